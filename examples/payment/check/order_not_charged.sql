-- orders that fewer trades paid than must
SELECT expected.out_trade_no
  FROM expected_order AS expected
  LEFT JOIN ledger ON ledger.out_trade_no = expected.out_trade_no AND ledger.kind = 'charge'
 GROUP BY expected.out_trade_no, expected.min_charges
HAVING COUNT(ledger.entry) < expected.min_charges
