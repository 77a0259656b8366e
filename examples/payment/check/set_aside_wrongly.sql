-- trades that were set aside twice, or although an order takes them
SELECT expected.trade_no
  FROM expected_trade AS expected
  JOIN ledger ON ledger.trade_no = expected.trade_no AND ledger.kind = 'set_aside'
 GROUP BY expected.trade_no, expected.fate
HAVING COUNT(*) > 1 OR expected.fate IN ('charged', 'unpaid')
