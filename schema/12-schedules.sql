-- Schedules: payments that happen by themselves on their day, and what has come of each date.

CREATE TABLE schedule (
  organisation_id integer NOT NULL,
  -- Of the organisation, drawn at random; what events know it by.
  number integer NOT NULL CHECK (number > 0),
  merchant_id integer NOT NULL,
  customer_id integer NOT NULL,
  id text COLLATE "C" NOT NULL,
  correlation_id text COLLATE "C" NOT NULL,
  -- By the gateway's clock.
  created_at timestamptz NOT NULL,
  user_id integer,
  -- Amount, token, dates, and whether it is active. Whoever may change it seals it in the journal.
  terms json NOT NULL,
  -- Which of its dates comes next, counted from 1.
  next_n integer NOT NULL DEFAULT 1 CHECK (next_n > 0),
  -- When its last date was decided.
  ended_at timestamptz,
  -- When there is something to do; empty where nothing is.
  due_at timestamptz,
  -- A process is at it.
  held_until timestamptz,
  -- How many events there were.
  events integer NOT NULL DEFAULT 0,
  -- For the calendar alone, which counts many at once: what is paid on which day follows from the terms. The next date of one that is active;
  next_on date,
  amount_cents bigint NOT NULL,
  -- currency, method, how many days apart its dates are (0: months), and the last of them if there is one.
  pace text COLLATE "C" NOT NULL,
  PRIMARY KEY (organisation_id, number),
  CONSTRAINT schedule_id_once UNIQUE (organisation_id, id),
  CONSTRAINT schedule_correlation_id_once UNIQUE (organisation_id, merchant_id, correlation_id),
  FOREIGN KEY (organisation_id, merchant_id) REFERENCES merchant (organisation_id, id)
);
CREATE INDEX schedule_due ON schedule (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX schedule_of_merchant ON schedule (organisation_id, merchant_id, created_at, number);
CREATE INDEX schedule_of_customer ON schedule (organisation_id, merchant_id, customer_id, created_at, number);

CREATE INDEX schedule_by_next_date ON schedule (organisation_id, merchant_id, next_on) INCLUDE (pace, amount_cents) WHERE next_on IS NOT NULL;
CREATE INDEX schedule_paused ON schedule (organisation_id, merchant_id) WHERE ended_at IS NULL AND terms ->> 'standing' = 'paused';

CREATE FUNCTION schedule_is_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'no date of a schedule comes twice, one that has ended stays so, and none is removed'
    USING ERRCODE = 'check_violation', TABLE = 'schedule', CONSTRAINT = 'schedule_is_kept';
END $$;
CREATE TRIGGER schedule_is_kept BEFORE UPDATE ON schedule FOR EACH ROW
  -- guard(schema: no date of a schedule comes twice): NEW.next_n < OLD.next_n ⇒ false
  -- guard(schema: a schedule that has ended stays so): OR (OLD.ended_at IS NOT NULL AND NEW.ended_at IS DISTINCT FROM OLD.ended_at) ⇒
  WHEN (NEW.next_n < OLD.next_n OR (OLD.ended_at IS NOT NULL AND NEW.ended_at IS DISTINCT FROM OLD.ended_at)
    OR NEW.id <> OLD.id OR NEW.merchant_id <> OLD.merchant_id)
  EXECUTE FUNCTION schedule_is_kept();
CREATE TRIGGER schedule_is_not_removed BEFORE DELETE ON schedule FOR EACH ROW EXECUTE FUNCTION schedule_is_kept();

-- A date is begun here before the pipeline hears of it, and it is part of the correlation ID of its payments.
CREATE TABLE schedule_date (
  organisation_id integer NOT NULL,
  schedule integer NOT NULL,
  n integer NOT NULL CHECK (n > 0),
  due_on date NOT NULL,
  -- By the gateway's clock.
  begun_at timestamptz NOT NULL,
  -- The last three are outcomes: a date has one, and it stays.
  status text NOT NULL CONSTRAINT schedule_date_status_known
    CHECK (status IN ('processing', 'pending', 'retrying', 'paid', 'failed', 'skipped')),
  -- The payment that is under way, or was the last one, counted from 1.
  attempt smallint NOT NULL CHECK (attempt >= 0),
  -- How often the gateway has refused to pay since the last payment that was sent.
  refusals smallint NOT NULL DEFAULT 0,
  -- When it is looked at again.
  look_at timestamptz,
  reason text,
  -- Of its last payment, if there was one.
  audit integer,
  decided_at timestamptz,
  PRIMARY KEY (organisation_id, schedule, n),
  CONSTRAINT schedule_date_once UNIQUE (organisation_id, schedule, due_on),
  CONSTRAINT a_decided_date_has_its_time CHECK ((decided_at IS NOT NULL) = (status IN ('paid', 'failed', 'skipped'))),
  FOREIGN KEY (organisation_id, schedule) REFERENCES schedule (organisation_id, number)
);
CREATE INDEX schedule_date_open ON schedule_date (organisation_id, schedule) WHERE decided_at IS NULL;

CREATE INDEX schedule_date_tried_again ON schedule_date (organisation_id, look_at) WHERE status = 'retrying';
CREATE INDEX schedule_date_failed ON schedule_date (organisation_id, decided_at) WHERE status = 'failed';

CREATE FUNCTION date_is_decided_once() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'a date of a schedule that is decided stays decided'
    USING ERRCODE = 'check_violation', TABLE = 'schedule_date', CONSTRAINT = 'date_is_decided_once';
END $$;
CREATE TRIGGER date_is_decided_once BEFORE UPDATE ON schedule_date FOR EACH ROW
  -- guard(schema: a date of a schedule that is decided stays decided): (OLD.decided_at IS NOT NULL AND NEW.* IS DISTINCT FROM OLD.*) OR ⇒
  WHEN ((OLD.decided_at IS NOT NULL AND NEW.* IS DISTINCT FROM OLD.*) OR NEW.due_on <> OLD.due_on OR NEW.attempt < OLD.attempt)
  EXECUTE FUNCTION date_is_decided_once();
CREATE TRIGGER date_is_not_removed BEFORE DELETE ON schedule_date FOR EACH ROW EXECUTE FUNCTION date_is_decided_once();
