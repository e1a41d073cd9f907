-- Schedules: payments that happen by themselves on their day.

CREATE TABLE schedule (
  organisation_id integer NOT NULL,
  number integer NOT NULL CHECK (number > 0),
  merchant_id integer NOT NULL,
  customer_id integer NOT NULL,
  id text COLLATE "C" NOT NULL,
  correlation_id text COLLATE "C" NOT NULL,
  created_at timestamptz NOT NULL,
  user_id integer,
  terms json NOT NULL,
  next_n integer NOT NULL DEFAULT 1 CHECK (next_n > 0),
  ended_at timestamptz,
  due_at timestamptz,
  held_until timestamptz,
  events integer NOT NULL DEFAULT 0,
  PRIMARY KEY (organisation_id, number),
  CONSTRAINT schedule_id_once UNIQUE (organisation_id, id),
  CONSTRAINT schedule_correlation_id_once UNIQUE (organisation_id, merchant_id, correlation_id),
  FOREIGN KEY (organisation_id, merchant_id) REFERENCES merchant (organisation_id, id)
);
CREATE INDEX schedule_due ON schedule (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX schedule_of_merchant ON schedule (organisation_id, merchant_id, created_at, number);
CREATE INDEX schedule_of_customer ON schedule (organisation_id, merchant_id, customer_id, created_at, number);

CREATE FUNCTION schedule_is_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'no date of a schedule comes twice, one that has ended stays so, and none is removed'
    USING ERRCODE = 'check_violation', TABLE = 'schedule', CONSTRAINT = 'schedule_is_kept';
END $$;
CREATE TRIGGER schedule_is_kept BEFORE UPDATE ON schedule FOR EACH ROW
  WHEN (NEW.next_n < OLD.next_n OR (OLD.ended_at IS NOT NULL AND NEW.ended_at IS DISTINCT FROM OLD.ended_at)
    OR NEW.id <> OLD.id OR NEW.merchant_id <> OLD.merchant_id)
  EXECUTE FUNCTION schedule_is_kept();
CREATE TRIGGER schedule_is_not_removed BEFORE DELETE ON schedule FOR EACH ROW EXECUTE FUNCTION schedule_is_kept();

CREATE TABLE schedule_date (
  organisation_id integer NOT NULL,
  schedule integer NOT NULL,
  n integer NOT NULL CHECK (n > 0),
  due_on date NOT NULL,
  begun_at timestamptz NOT NULL,
  status text NOT NULL CONSTRAINT schedule_date_status_known
    CHECK (status IN ('processing', 'pending', 'retrying', 'paid', 'failed', 'skipped')),
  attempt smallint NOT NULL CHECK (attempt >= 0),
  refusals smallint NOT NULL DEFAULT 0,
  look_at timestamptz,
  reason text,
  audit integer,
  decided_at timestamptz,
  PRIMARY KEY (organisation_id, schedule, n),
  CONSTRAINT schedule_date_once UNIQUE (organisation_id, schedule, due_on),
  CONSTRAINT a_decided_date_has_its_time CHECK ((decided_at IS NOT NULL) = (status IN ('paid', 'failed', 'skipped'))),
  FOREIGN KEY (organisation_id, schedule) REFERENCES schedule (organisation_id, number)
);
CREATE INDEX schedule_date_open ON schedule_date (organisation_id, schedule) WHERE decided_at IS NULL;

CREATE FUNCTION date_is_decided_once() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'a date of a schedule that is decided stays decided'
    USING ERRCODE = 'check_violation', TABLE = 'schedule_date', CONSTRAINT = 'date_is_decided_once';
END $$;
CREATE TRIGGER date_is_decided_once BEFORE UPDATE ON schedule_date FOR EACH ROW
  WHEN ((OLD.decided_at IS NOT NULL AND NEW.* IS DISTINCT FROM OLD.*) OR NEW.due_on <> OLD.due_on OR NEW.attempt < OLD.attempt)
  EXECUTE FUNCTION date_is_decided_once();
CREATE TRIGGER date_is_not_removed BEFORE DELETE ON schedule_date FOR EACH ROW EXECUTE FUNCTION date_is_decided_once();

DO $$
BEGIN
  REVOKE UPDATE, DELETE ON schedule, schedule_date FROM tollgate_application, tollgate_operator;
  GRANT UPDATE (terms, next_n, ended_at, due_at, held_until, events) ON schedule TO tollgate_application;
  GRANT UPDATE (terms, due_at, events) ON schedule TO tollgate_operator;
  GRANT UPDATE (status, attempt, refusals, look_at, reason, audit, decided_at) ON schedule_date TO tollgate_application;
  REVOKE INSERT ON schedule, schedule_date FROM tollgate_operator;
EXCEPTION WHEN insufficient_privilege OR undefined_object THEN
  RAISE WARNING 'the rights of the roles tollgate_operator and tollgate_application on schedules could not be set';
END $$;
