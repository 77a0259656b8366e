-- trades whose money came and was neither charged nor set aside
SELECT expected.trade_no
  FROM expected_trade AS expected
  LEFT JOIN ledger ON ledger.trade_no = expected.trade_no AND ledger.kind IN ('charge', 'set_aside')
 WHERE expected.fate <> 'unpaid'
 GROUP BY expected.trade_no, expected.amount
HAVING COALESCE(SUM(ledger.amount), 0) < expected.amount
