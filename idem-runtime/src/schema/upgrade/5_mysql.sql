ALTER TABLE idem_record
    ADD COLUMN begun_writes INT NOT NULL DEFAULT 0;
