ALTER TABLE idem_record
    VALIDATE CONSTRAINT idem_record_status,
    VALIDATE CONSTRAINT idem_record_answer;
