-- rows whose last history entry does not tell their status and version
SELECT orders.out_trade_no AS id
  FROM orders
  LEFT JOIN orders_history AS history
    ON history.out_trade_no = orders.out_trade_no AND history.version = orders.version
 WHERE COALESCE(history.target, 'pending') <> orders.status
    OR history.version IS NULL AND orders.version > 0
 UNION ALL
SELECT payments.trade_no AS id
  FROM payments
  LEFT JOIN payments_history AS history
    ON history.trade_no = payments.trade_no AND history.version = payments.version
 WHERE COALESCE(history.target, 'waiting') <> payments.status
    OR history.version IS NULL AND payments.version > 0
