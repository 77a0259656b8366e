-- ledger entries that no entry of a history explains
SELECT ledger.trade_no
  FROM ledger
 WHERE NOT EXISTS (SELECT 1 FROM orders_history AS history
                    WHERE ledger.kind = 'charge' AND history.event = 'pay'
                      AND history.out_trade_no = ledger.out_trade_no
                      AND history.cause = ledger.trade_no)
   AND NOT EXISTS (SELECT 1 FROM payments_history AS history
                    WHERE history.trade_no = ledger.trade_no
                      AND (ledger.kind = 'set_aside' AND history.event = 'refuse'
                        OR ledger.kind = 'refund' AND history.event IN ('give_back', 'refund')
                        OR ledger.kind = 'goodwill' AND history.event = 'capture'))
