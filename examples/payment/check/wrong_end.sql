-- orders that ended in a state in which they may not end
SELECT orders.out_trade_no
  FROM orders
  LEFT JOIN expected_end AS expected
    ON expected.out_trade_no = orders.out_trade_no AND expected.status = orders.status
 WHERE expected.status IS NULL
