-- trades that were charged although no order takes them
SELECT DISTINCT expected.trade_no
  FROM expected_trade AS expected
  JOIN ledger ON ledger.trade_no = expected.trade_no AND ledger.kind = 'charge'
 WHERE expected.fate IN ('set_aside', 'unpaid')
