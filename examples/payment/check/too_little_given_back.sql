-- trades of which the ledger gave back less than the channel did, or with too few goodwill entries
SELECT expected.trade_no
  FROM expected_trade AS expected
 WHERE expected.refunded > (SELECT COALESCE(SUM(amount), 0) FROM ledger
                             WHERE ledger.trade_no = expected.trade_no AND kind = 'refund')
    OR expected.partial_refunds > (SELECT COUNT(*) FROM ledger
                                    WHERE ledger.trade_no = expected.trade_no AND kind = 'goodwill')
