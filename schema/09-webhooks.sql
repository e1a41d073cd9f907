-- Webhooks: who is told of events, how far each of them is, what waits to be tried again, and a log of every attempt.

CREATE SEQUENCE webhook_endpoint_id AS integer;

CREATE TABLE webhook_endpoint (
  organisation_id integer NOT NULL,
  id integer NOT NULL DEFAULT nextval('webhook_endpoint_id'),
  merchant_id integer NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  url text NOT NULL CHECK (length(url) BETWEEN 1 AND 2048),
  -- Empty: every type.
  types text[] CHECK (cardinality(types) > 0),
  -- The secrets for signatures, sealed: the newest, and while it is being rotated the one before it.
  key_version integer NOT NULL,
  sealed bytea NOT NULL,
  -- Until when signatures are made with the one before it too.
  overlap_until timestamptz,
  disabled_at timestamptz,
  disabled_because text CHECK (disabled_because IN ('operator', 'gone', 'failing')),
  -- Every event up to this position of the feed is delivered, given up, or waits in `webhook_delivery`.
  position bigint NOT NULL,
  -- When to look after it although nothing new has happened. Empty where nothing waits.
  wake_at timestamptz DEFAULT now(),
  -- Nothing is sent to it before then.
  paused_until timestamptz,
  -- Counts who has worked for it: only the last one may record what came of it.
  lease integer NOT NULL DEFAULT 0,
  leased_until timestamptz,
  -- Attempts without a success among them, and since when.
  failures integer NOT NULL DEFAULT 0,
  failing_since timestamptz,
  delivered_at timestamptz,
  -- When an endpoint that fails is tried with one message, although none is due: one that was mended is noticed soon.
  probe_at timestamptz,
  -- Which secret it is: those before it do not come back.
  secret_version integer NOT NULL DEFAULT 1,
  PRIMARY KEY (organisation_id, id),
  CONSTRAINT webhook_endpoint_once UNIQUE (id, organisation_id),
  FOREIGN KEY (organisation_id, merchant_id) REFERENCES merchant (organisation_id, id),
  FOREIGN KEY (organisation_id, merchant_id, key_version) REFERENCES data_key (organisation_id, merchant_id, version),
  CONSTRAINT disabled_for_a_reason CHECK ((disabled_at IS NULL) = (disabled_because IS NULL))
) WITH (fillfactor = 50);
CREATE INDEX webhook_endpoint_of_merchant ON webhook_endpoint (organisation_id, merchant_id, key_version);
CREATE INDEX webhook_endpoint_to_wake ON webhook_endpoint (wake_at) WHERE disabled_at IS NULL;

-- Events that could not be delivered yet, and those behind them about the same subject.
CREATE TABLE webhook_delivery (
  organisation_id integer NOT NULL,
  endpoint_id integer NOT NULL,
  -- What the event is about, such as `transaction/17`.
  subject varchar(40) NOT NULL,
  version integer NOT NULL,
  -- Of the event in the feed.
  position bigint NOT NULL,
  attempts smallint NOT NULL DEFAULT 0,
  -- When it failed first.
  failing_since timestamptz NOT NULL DEFAULT now(),
  -- Empty while an earlier event about the same subject waits.
  next_at timestamptz,
  PRIMARY KEY (organisation_id, endpoint_id, subject, version),
  FOREIGN KEY (organisation_id, endpoint_id) REFERENCES webhook_endpoint (organisation_id, id) ON DELETE CASCADE
);
CREATE INDEX webhook_delivery_due ON webhook_delivery (organisation_id, endpoint_id, next_at) WHERE next_at IS NOT NULL;

-- The log. As events, attempts lie in a ring of days, of which those that are over are emptied at one go.
CREATE SEQUENCE webhook_attempt_id;

CREATE TABLE webhook_attempt (
  organisation_id integer NOT NULL,
  endpoint_id integer NOT NULL,
  id bigint NOT NULL DEFAULT nextval('webhook_attempt_id'),
  at timestamptz NOT NULL,
  version integer NOT NULL,
  slot smallint NOT NULL DEFAULT floor(extract(epoch FROM now()) / 86400)::bigint % 32,
  attempt smallint NOT NULL,
  -- Of the answer, if there was one.
  http_status smallint,
  duration_ms integer NOT NULL,
  event_id varchar(80) NOT NULL,
  type varchar(40) NOT NULL,
  -- `delivered`, `refused`, or why there was no answer.
  result varchar(40) NOT NULL,
  -- The beginning of an answer that was no success.
  response varchar(256)
) PARTITION BY LIST (slot);
CREATE INDEX webhook_attempt_of_endpoint ON webhook_attempt (organisation_id, endpoint_id, id);
CREATE INDEX webhook_attempt_of_event ON webhook_attempt (organisation_id, event_id);

DO $$
BEGIN
  FOR slot IN 0..31 LOOP
    EXECUTE format('CREATE TABLE %I PARTITION OF webhook_attempt FOR VALUES IN (%s)', 'webhook_attempt_' || slot, slot);
  END LOOP;
END $$;

-- Empties the slots of all days but today, tomorrow and the days that are kept; with the rights of its owner, as the gateway's own
-- role may not empty tables. A slot that somebody reads just then is left to the next time.
-- A table without a page has no rows, and that is known without reading it.
CREATE FUNCTION forget_webhook_attempts(kept_days integer) RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = public, pg_temp SET lock_timeout = '100ms' AS $$
DECLARE
  today bigint := floor(extract(epoch FROM now()) / 86400)::bigint;
  filled boolean;
  emptied integer := 0;
BEGIN
  FOR slot IN 0..31 LOOP
    IF (today + 1 - slot + 32) % 32 > kept_days + 1 THEN
      BEGIN
        CONTINUE WHEN pg_relation_size(('webhook_attempt_' || slot)::regclass) = 0;
        EXECUTE format('SELECT EXISTS (SELECT FROM %I)', 'webhook_attempt_' || slot) INTO filled;
        IF filled THEN
          EXECUTE format('TRUNCATE %I', 'webhook_attempt_' || slot);
          emptied := emptied + 1;
        END IF;
      EXCEPTION WHEN lock_not_available THEN
        NULL;
      END;
    END IF;
  END LOOP;
  RETURN emptied;
END $$;
