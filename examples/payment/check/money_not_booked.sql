-- trades whose money came and was neither charged nor set aside, or with another amount
SELECT expected.trade_no
  FROM expected_trade AS expected
  LEFT JOIN ledger ON ledger.trade_no = expected.trade_no AND ledger.kind IN ('charge', 'set_aside')
 WHERE expected.fate <> 'unpaid'
 GROUP BY expected.trade_no, expected.amount
HAVING COALESCE(MIN(ledger.amount), 0) <> expected.amount
    OR COALESCE(MAX(ledger.amount), 0) <> expected.amount
