-- The shop's own tables. idem adds two history tables and its record table beside them.
CREATE TABLE orders (
  out_trade_no TEXT        NOT NULL PRIMARY KEY,
  amount       BIGINT      NOT NULL,
  status       TEXT        NOT NULL,
  version      BIGINT      NOT NULL DEFAULT 0,
  trade_no     TEXT,
  paid_at      TIMESTAMPTZ,
  shipped_at   TIMESTAMPTZ
);

CREATE TABLE payments (
  trade_no     TEXT        NOT NULL PRIMARY KEY,
  out_trade_no TEXT        NOT NULL,
  amount       BIGINT      NOT NULL,
  refunded     BIGINT      NOT NULL DEFAULT 0,
  status       TEXT        NOT NULL,
  version      BIGINT      NOT NULL DEFAULT 0,
  reason       TEXT,
  captured_at  TIMESTAMPTZ
);

-- Every movement of money, in minor units: charge, set_aside, refund, goodwill.
-- No unique index stops a second row: that is the work of the machines and of the inbox key.
CREATE TABLE ledger (
  entry        BIGINT      GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  kind         TEXT        NOT NULL,
  trade_no     TEXT        NOT NULL,
  out_trade_no TEXT        NOT NULL,
  amount       BIGINT      NOT NULL,
  notify_id    TEXT        NOT NULL
);
