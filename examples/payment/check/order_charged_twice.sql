-- orders that more trades paid than may
SELECT expected.out_trade_no
  FROM expected_order AS expected
  JOIN ledger ON ledger.out_trade_no = expected.out_trade_no AND ledger.kind = 'charge'
 GROUP BY expected.out_trade_no, expected.max_charges
HAVING COUNT(*) > expected.max_charges
