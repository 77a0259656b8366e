-- trades with more goodwill entries than partial refunds
SELECT expected.trade_no
  FROM expected_trade AS expected
  JOIN ledger ON ledger.trade_no = expected.trade_no AND ledger.kind = 'goodwill'
 GROUP BY expected.trade_no, expected.partial_refunds
HAVING COUNT(*) > expected.partial_refunds
