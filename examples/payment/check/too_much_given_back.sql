-- trades of which the ledger gave back more than the channel did
SELECT expected.trade_no
  FROM expected_trade AS expected
  JOIN ledger ON ledger.trade_no = expected.trade_no AND ledger.kind = 'refund'
 GROUP BY expected.trade_no, expected.refunded
HAVING SUM(ledger.amount) > expected.refunded
