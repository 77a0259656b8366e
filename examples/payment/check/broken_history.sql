-- history entries that are no declared transition, or start elsewhere than the last ended
SELECT entry.id
  FROM (SELECT 'order' AS machine, out_trade_no AS id, version, event, source, target,
               LAG(version) OVER (PARTITION BY out_trade_no ORDER BY version) AS version_before,
               LAG(target) OVER (PARTITION BY out_trade_no ORDER BY version) AS target_before
          FROM orders_history
         UNION ALL
        SELECT 'payment' AS machine, trade_no AS id, version, event, source, target,
               LAG(version) OVER (PARTITION BY trade_no ORDER BY version) AS version_before,
               LAG(target) OVER (PARTITION BY trade_no ORDER BY version) AS target_before
          FROM payments_history) AS entry
  LEFT JOIN declared
    ON declared.machine = entry.machine AND declared.event = entry.event
   AND declared.source = entry.source AND declared.target = entry.target
 WHERE declared.event IS NULL
    OR entry.version <= COALESCE(entry.version_before, 0)
    OR entry.source <> COALESCE(entry.target_before,
                                CASE entry.machine WHEN 'order' THEN 'pending' ELSE 'waiting' END)
