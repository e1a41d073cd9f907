-- What has reached a limit, and cards that must not be tried again, are noted by one function.

CREATE FUNCTION note_limit_reached(organisation integer, merchant integer, what text, hashed bytea, how text, shows text, until timestamptz)
RETURNS TABLE (shown text, id integer, version integer, begins boolean)
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
  at_now CONSTANT timestamptz := gateway_now();
BEGIN
  RETURN QUERY
  INSERT INTO limit_reached AS r (organisation_id, merchant_id, per, tag, mode, shown, first_at, last_at, goes_on_until)
  VALUES (organisation, merchant, what, hashed, how, shows, at_now, at_now, until)
  ON CONFLICT ON CONSTRAINT limit_reached_once DO UPDATE SET
    first_at = CASE WHEN r.goes_on_until <= at_now THEN at_now ELSE r.first_at END,
    last_at = at_now,
    goes_on_until = greatest(excluded.goes_on_until, r.goes_on_until),
    version = r.version + (r.goes_on_until <= at_now)::integer,
    times = CASE WHEN r.goes_on_until <= at_now THEN 1 ELSE r.times + 1 END
  RETURNING r.shown, r.id, r.version, r.times = 1;
END $$;

CREATE OR REPLACE FUNCTION count_attempt(organisation integer, merchant integer, called text, limits json)
RETURNS TABLE (per text, mode text, shown text, id integer, version integer, begins boolean)
LANGUAGE plpgsql VOLATILE AS $$
#variable_conflict use_column
DECLARE
  at_now CONSTANT timestamptz := gateway_now();
  one record;
  is_reached boolean;
  blocked boolean := false;
  reached integer[] := '{}';
BEGIN
  -- In one order, so that two attempts do not wait for each other.
  PERFORM pg_advisory_xact_lock(hashtextextended(format('tollgate limit %s %s %s', merchant, counted.per, counted.tag), 0))
  FROM (SELECT DISTINCT l.per, l.tag FROM json_to_recordset(limits) AS l(per text, tag text) ORDER BY l.per, l.tag) counted;
  FOR one IN
    SELECT * FROM json_to_recordset(limits)
      AS l(place integer, per text, tag text, attempts integer, declines integer, within_ms bigint, mode text)
  LOOP
    SELECT one.attempts <= count(*) OR coalesce(one.declines <= count(*) FILTER (WHERE a.declined), false) INTO is_reached
    FROM (
      SELECT one.declines IS NOT NULL AND EXISTS (
          SELECT FROM transactions_called(organisation, merchant, a.correlation_id) t WHERE t.status = 'declined') AS declined
      FROM limit_attempt a
      WHERE a.merchant_id = merchant AND a.per = one.per AND a.tag = decode(one.tag, 'hex') AND a.correlation_id <> called
        AND a.tried_at > at_now - one.within_ms * interval '1 millisecond'
      ORDER BY a.tried_at DESC LIMIT one.attempts
    ) a;
    IF is_reached THEN
      reached := reached || one.place;
      blocked := blocked OR one.mode = 'block';
    END IF;
  END LOOP;
  IF NOT blocked THEN
    INSERT INTO limit_attempt (organisation_id, merchant_id, per, tag, correlation_id, tried_at, counts_until)
    SELECT organisation, merchant, l.per, decode(l.tag, 'hex'), called, at_now, at_now + max(l.within_ms) * interval '1 millisecond'
    FROM json_to_recordset(limits) AS l(per text, tag text, within_ms bigint) GROUP BY l.per, l.tag
    ON CONFLICT DO NOTHING;
  END IF;
  RETURN QUERY
  SELECT l.per, l.mode, noted.shown, noted.id, noted.version, noted.begins
  FROM (
    SELECT l.per, decode(l.tag, 'hex') AS tag, l.mode, max(l.shown) AS shown, max(l.within_ms) * interval '1 millisecond' AS within
    FROM json_to_recordset(limits) AS l(place integer, per text, tag text, mode text, shown text, within_ms bigint)
    WHERE l.place = ANY (reached) AND l.mode = CASE WHEN blocked THEN 'block' ELSE 'watch' END
    GROUP BY l.per, l.tag, l.mode ORDER BY l.per, l.tag
  ) l CROSS JOIN LATERAL note_limit_reached(organisation, merchant, l.per, l.tag, l.mode, l.shown, at_now + l.within) noted;
END $$;

DROP FUNCTION note_retry_forbidden(integer, integer, bytea, text);
CREATE FUNCTION note_retry_forbidden(organisation integer, merchant integer, card bytea, card_mask text)
RETURNS TABLE (id integer, version integer, begins boolean) LANGUAGE sql VOLATILE AS $$
  SELECT id, version, begins
  FROM note_limit_reached(organisation, merchant, 'retry', card, 'block', card_mask, gateway_now() + interval '30 days')
$$;
