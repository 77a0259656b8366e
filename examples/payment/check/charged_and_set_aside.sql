-- trades that an order took and that would be given back all the same
SELECT trade_no
  FROM ledger
 WHERE kind IN ('charge', 'set_aside')
 GROUP BY trade_no
HAVING COUNT(DISTINCT kind) > 1
