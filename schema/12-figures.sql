-- What the console shows: figures of each minute and hour, which background work counts from the feed of events. A purchase pays for
-- none of it.

-- Organisation 0 is all of them together. A transaction counts where it was made, by the gateway's clock, with the status that it has: each
-- event takes it out from under the status before, and puts it under the new one.
CREATE TABLE figures_by_minute (
  organisation_id integer NOT NULL,
  minute timestamptz NOT NULL,
  mode text NOT NULL,
  currency text NOT NULL,
  transaction_type text NOT NULL,
  status text NOT NULL,
  count bigint NOT NULL,
  cents bigint NOT NULL,
  PRIMARY KEY (organisation_id, minute, mode, currency, transaction_type, status)
) WITH (fillfactor = 60);
CREATE INDEX figures_by_minute_old ON figures_by_minute (minute);

CREATE TABLE figures_by_hour (
  organisation_id integer NOT NULL,
  hour timestamptz NOT NULL,
  mode text NOT NULL,
  currency text NOT NULL,
  transaction_type text NOT NULL,
  status text NOT NULL,
  acquirer text NOT NULL,
  -- The scheme of the card, empty where that is not known; `bankaccount` for a direct debit.
  method text NOT NULL,
  response_code text NOT NULL,
  count bigint NOT NULL,
  cents bigint NOT NULL,
  PRIMARY KEY (organisation_id, hour, mode, currency, transaction_type, status, acquirer, method, response_code)
) WITH (fillfactor = 60);
CREATE INDEX figures_by_hour_old ON figures_by_hour (hour);

-- Transactions that were counted under a status that another follows for certain. Of all others the status before a new one can be told
-- from that: only what was approved is voided or returned.
CREATE TABLE figures_undecided (
  organisation_id integer NOT NULL,
  audit integer NOT NULL,
  status text NOT NULL,
  made_at timestamptz NOT NULL,
  PRIMARY KEY (organisation_id, audit)
);
CREATE INDEX figures_undecided_old ON figures_undecided (made_at);

CREATE TABLE figures_progress (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  -- Every event up to this position of the feed is counted, in the same transaction.
  position bigint NOT NULL DEFAULT 0,
  counted_until timestamptz NOT NULL DEFAULT '-infinity',
  -- What lies before is not counted any more, and removed.
  minutes_from timestamptz NOT NULL DEFAULT '-infinity',
  hours_from timestamptz NOT NULL DEFAULT '-infinity'
);
INSERT INTO figures_progress DEFAULT VALUES;
