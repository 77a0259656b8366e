-- What must hold, as tables. `expected.jsonl` is read into the first three; the declared transitions are written by hand
-- from the two diagrams, so that a generated table cannot confirm itself.
CREATE TABLE expected_order (
  out_trade_no VARCHAR(191) NOT NULL PRIMARY KEY,
  story        VARCHAR(191) NOT NULL,
  min_charges  BIGINT       NOT NULL,
  max_charges  BIGINT       NOT NULL
);
CREATE TABLE expected_end (
  out_trade_no VARCHAR(191) NOT NULL,
  status       VARCHAR(16)  NOT NULL,
  PRIMARY KEY (out_trade_no, status)
);
CREATE TABLE expected_trade (
  trade_no        VARCHAR(191) NOT NULL PRIMARY KEY,
  fate            VARCHAR(16)  NOT NULL,
  amount          BIGINT       NOT NULL,
  refunded        BIGINT       NOT NULL,
  partial_refunds BIGINT       NOT NULL
);
CREATE TABLE declared (
  machine VARCHAR(16) NOT NULL,
  event   VARCHAR(16) NOT NULL,
  source  VARCHAR(16) NOT NULL,
  target  VARCHAR(16) NOT NULL,
  PRIMARY KEY (machine, event, source, target)
);
INSERT INTO declared (machine, event, source, target) VALUES
  ('payment', 'capture',   'waiting',   'captured'),
  ('payment', 'capture',   'closed',    'captured'),
  ('payment', 'give_back', 'captured',  'captured'),
  ('payment', 'refuse',    'captured',  'set_aside'),
  ('payment', 'refund',    'captured',  'refunded'),
  ('payment', 'refund',    'set_aside', 'refunded'),
  ('payment', 'close',     'waiting',   'closed'),
  ('order',   'pay',       'pending',   'paid'),
  ('order',   'ship',      'paid',      'shipped'),
  ('order',   'finish',    'shipped',   'done'),
  ('order',   'cancel',    'pending',   'cancelled'),
  ('order',   'refund',    'paid',      'refunded'),
  ('order',   'refund',    'shipped',   'refunded');
