ALTER TABLE idem_record
    DROP CONSTRAINT IF EXISTS idem_record_status_check,
    DROP CONSTRAINT IF EXISTS idem_record_check,
    ADD COLUMN result_type TEXT,
    ADD COLUMN result_until TIMESTAMPTZ,
    ADD COLUMN key_until TIMESTAMPTZ,
    ADD CONSTRAINT idem_record_status CHECK (status IN (1, 2, 3, 4)) NOT VALID,
    ADD CONSTRAINT idem_record_answer CHECK (
        (status IN (2, 3)) = (completed_at IS NOT NULL)
        AND (result IS NULL OR status IN (2, 3))
        AND (result IS NOT NULL OR result_until IS NOT NULL OR status IN (1, 4))) NOT VALID;
