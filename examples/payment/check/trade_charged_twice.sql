-- trades that were charged more than once
SELECT trade_no
  FROM ledger
 WHERE kind = 'charge'
 GROUP BY trade_no
HAVING COUNT(*) > 1
