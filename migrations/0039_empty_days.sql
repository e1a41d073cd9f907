-- To forget what is old every day of a ring was read, also those in which nothing is: planned and run anew for each, that took tens of
-- milliseconds at every start of a gateway. A table without a page has no rows, and that is known without reading it.

-- Empties the slots of all days but today and the days that are kept, and begins the day. It works with the rights of
-- its owner: the gateway's own role may not empty tables. A slot that somebody reads just then is left to the next time; what
-- is in it is forgotten all the same.
CREATE OR REPLACE FUNCTION forget_events(kept_days integer) RETURNS integer
LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = public, pg_temp SET lock_timeout = '100ms' AS $$
DECLARE
  state event_sequencer;
  kept_from bigint;
  last bigint;
  last_old bigint;
  emptied integer := 0;
BEGIN
  PERFORM set_config('lock_timeout', '5s', true);
  PERFORM pg_advisory_xact_lock(hashtext('tollgate events'));
  PERFORM set_config('lock_timeout', '100ms', true);
  SELECT * INTO state FROM event_sequencer;
  state.position := event_positions_begin(state.position, state.day);
  kept_from := (state.position / 10000000000 - kept_days) * 10000000000;
  FOR slot IN 0..63 LOOP
    CONTINUE WHEN pg_relation_size(('event_feed_' || slot)::regclass) = 0;
    EXECUTE format('SELECT max(position) FROM %I', 'event_feed_' || slot) INTO last;
    EXECUTE format('SELECT max(position) FROM %I WHERE position < $1', 'event_feed_' || slot) INTO last_old USING kept_from;
    state.forgotten := greatest(state.forgotten, last_old);
    IF last < kept_from THEN
      BEGIN
        EXECUTE format('TRUNCATE %I', 'event_feed_' || slot);
        emptied := emptied + 1;
      EXCEPTION WHEN lock_not_available THEN
        NULL;
      END;
    END IF;
  END LOOP;
  UPDATE event_sequencer SET position = state.position, forgotten = state.forgotten, day = event_day()
  WHERE position <> state.position OR forgotten <> state.forgotten;
  RETURN emptied;
END $$;

-- Empties the slots of all days but today, tomorrow and the days that are kept; with the rights of its owner, as the gateway's own
-- role may not empty tables. A slot that somebody reads just then is left to the next time.
CREATE OR REPLACE FUNCTION forget_webhook_attempts(kept_days integer) RETURNS integer
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
