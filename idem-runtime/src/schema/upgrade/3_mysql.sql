-- The former constraints have the names that MySQL or MariaDB gave them. That of the column, on MariaDB, goes by MODIFY.
SET @idem_former = (
    SELECT GROUP_CONCAT('DROP CONSTRAINT `', constraint_name, '`, ' SEPARATOR '')
      FROM information_schema.table_constraints
     WHERE table_schema = DATABASE() AND table_name = 'idem_record' AND constraint_type = 'CHECK'
       AND constraint_name IN ('CONSTRAINT_1', 'idem_record_chk_1', 'idem_record_chk_2')
);
SET @idem_upgrade = CONCAT('ALTER TABLE idem_record ', COALESCE(@idem_former, ''), '
    MODIFY status SMALLINT NOT NULL,
    ADD COLUMN result_type TEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin AFTER result,
    ADD COLUMN result_until DATETIME(6) AFTER completed_at,
    ADD COLUMN key_until DATETIME(6) AFTER result_until,
    ADD CONSTRAINT idem_record_status CHECK (status IN (1, 2, 3, 4)),
    ADD CONSTRAINT idem_record_answer CHECK (
        (status IN (2, 3)) = (completed_at IS NOT NULL)
        AND (result IS NULL OR status IN (2, 3))
        AND (result IS NOT NULL OR result_until IS NOT NULL OR status IN (1, 4)))');
PREPARE idem_upgrade FROM @idem_upgrade;
EXECUTE idem_upgrade;
DEALLOCATE PREPARE idem_upgrade;
