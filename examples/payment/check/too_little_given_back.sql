-- trades with less given back than by the channel, or with too few goodwill entries
SELECT expected.trade_no
  FROM expected_trade AS expected
 WHERE expected.refunded > (SELECT COALESCE(SUM(ledger.amount), 0)
                              FROM ledger
                             WHERE ledger.trade_no = expected.trade_no AND ledger.kind = 'refund')
    OR expected.partial_refunds > (SELECT COUNT(*)
                                     FROM ledger
                                    WHERE ledger.trade_no = expected.trade_no
                                      AND ledger.kind = 'goodwill')
