-- Every payment comes by here: one row that is read, and a loop over a few days, cost less than a query over them. It decides as before.
-- The days are in the order of the calendar.
CREATE OR REPLACE FUNCTION open_settlement_day(days date[], closes timestamptz[]) RETURNS date LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  closed date;
  at timestamptz;
BEGIN
  PERFORM pg_advisory_xact_lock_shared(hashtext('tollgate settlement'));
  SELECT closed_day, now() + advanced_ms * interval '1 millisecond' INTO closed, at FROM gateway;
  FOR place IN 1 .. cardinality(days) LOOP
    IF days[place] > closed AND closes[place] > at THEN
      RETURN days[place];
    END IF;
  END LOOP;
  RETURN closed + 1;
END $$;
