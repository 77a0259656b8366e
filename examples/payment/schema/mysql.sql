-- The shop's own tables. idem adds two history tables and its record table beside them.
CREATE TABLE orders (
  out_trade_no VARCHAR(191) NOT NULL PRIMARY KEY,
  amount       BIGINT       NOT NULL,
  status       VARCHAR(16)  NOT NULL,
  version      BIGINT       NOT NULL DEFAULT 0,
  trade_no     VARCHAR(191),
  paid_at      DATETIME(6),
  shipped_at   DATETIME(6)
) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE payments (
  trade_no     VARCHAR(191) NOT NULL PRIMARY KEY,
  out_trade_no VARCHAR(191) NOT NULL,
  amount       BIGINT       NOT NULL,
  refunded     BIGINT       NOT NULL DEFAULT 0,
  status       VARCHAR(16)  NOT NULL,
  version      BIGINT       NOT NULL DEFAULT 0,
  reason       VARCHAR(191),
  captured_at  DATETIME(6)
) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Every movement of money, in minor units: charge, set_aside, refund, goodwill.
-- No unique index stops a second row: that is the work of the machines and of the inbox key.
CREATE TABLE ledger (
  entry        BIGINT       NOT NULL AUTO_INCREMENT PRIMARY KEY,
  kind         VARCHAR(16)  NOT NULL,
  trade_no     VARCHAR(191) NOT NULL,
  out_trade_no VARCHAR(191) NOT NULL,
  amount       BIGINT       NOT NULL,
  notify_id    VARCHAR(191) NOT NULL
) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
