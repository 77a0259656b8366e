-- The shop's own tables. idem adds two history tables and its record table beside them.
CREATE TABLE orders (
  out_trade_no TEXT    NOT NULL PRIMARY KEY,
  amount       INTEGER NOT NULL,
  status       TEXT    NOT NULL,
  version      INTEGER NOT NULL DEFAULT 0,
  trade_no     TEXT,
  paid_at      TEXT,
  shipped_at   TEXT
);

CREATE TABLE payments (
  trade_no     TEXT    NOT NULL PRIMARY KEY,
  out_trade_no TEXT    NOT NULL,
  amount       INTEGER NOT NULL,
  refunded     INTEGER NOT NULL DEFAULT 0,
  status       TEXT    NOT NULL,
  version      INTEGER NOT NULL DEFAULT 0,
  reason       TEXT,
  captured_at  TEXT
);

-- Every movement of money, in minor units: charge, set_aside, refund, goodwill.
-- No unique index stops a second row: that is the work of the machines and of the inbox key.
CREATE TABLE ledger (
  entry        INTEGER PRIMARY KEY AUTOINCREMENT,
  kind         TEXT    NOT NULL,
  trade_no     TEXT    NOT NULL,
  out_trade_no TEXT    NOT NULL,
  amount       INTEGER NOT NULL,
  notify_id    TEXT    NOT NULL
);
