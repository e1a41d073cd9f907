-- Organisations that move from cell to cell: each move as both cells know it, what keeps an organisation from being paid for in two
-- cells, and what a cell has to know of payments that another one has sent.

-- A move, under the same ID in both cells. The row of the destination decides: it is opened, or taken back, and never both.
CREATE TABLE organisation_move (
  id uuid PRIMARY KEY,
  organisation_id integer NOT NULL,
  -- The other cell, and whether the organisation comes from there.
  cell text NOT NULL,
  arrives boolean NOT NULL,
  state text NOT NULL DEFAULT 'copying' CONSTRAINT move_state_known CHECK (state IN ('copying', 'closed', 'open', 'taken back', 'finished')),
  begun_at timestamptz NOT NULL DEFAULT now(),
  begun_by text NOT NULL,
  ended_at timestamptz,
  -- At the destination: how far each table was copied, as of which transactions of the source.
  copied jsonb NOT NULL DEFAULT '{}'
);
CREATE UNIQUE INDEX organisation_move_under_way ON organisation_move (organisation_id) WHERE ended_at IS NULL;

-- guard(schema: a move that was taken back is not opened): OLD.state IN ('open', 'taken back', 'finished') ⇒ false
CREATE FUNCTION organisation_move_is_kept() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'a move that was opened is not taken back, and one that was taken back is not opened'
    USING ERRCODE = 'check_violation', TABLE = 'organisation_move', CONSTRAINT = 'organisation_move_is_kept';
END $$;
CREATE TRIGGER organisation_move_is_kept BEFORE UPDATE ON organisation_move FOR EACH ROW
  WHEN (OLD.state <> NEW.state AND OLD.state IN ('open', 'taken back', 'finished') AND NOT (OLD.state = 'open' AND NEW.state = 'finished'))
  EXECUTE FUNCTION organisation_move_is_kept();

-- What another installation has sent keeps the name under which its acquirers know it: up to which audit an organisation's transactions are
-- of which installation. Those after the last are this one's.
CREATE TABLE former_installation (
  organisation_id integer NOT NULL,
  last_audit bigint NOT NULL,
  installation text NOT NULL,
  -- Under which it has hidden positions of events in cursors.
  cursor_key uuid NOT NULL,
  PRIMARY KEY (organisation_id, last_audit)
);

-- The installation that sent a transaction; empty: this one.
CREATE FUNCTION sent_by(organisation integer, audit integer) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT f.installation FROM former_installation f WHERE f.organisation_id = organisation AND f.last_audit >= audit
  ORDER BY f.last_audit LIMIT 1
$$;

CREATE INDEX organisation_elsewhere ON organisation (id) WHERE residence IN ('arriving', 'closed', 'moved');

-- Those for which nothing is done here: background work leaves them alone.
CREATE FUNCTION organisations_elsewhere() RETURNS integer[] LANGUAGE sql STABLE AS $$
  SELECT coalesce(array_agg(id ORDER BY id), '{}') FROM organisation WHERE residence IN ('arriving', 'closed', 'moved')
$$;

CREATE FUNCTION organisation_is_elsewhere() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'organisation % is not in this cell, or on its way', coalesce(NEW.organisation_id, OLD.organisation_id)
    USING ERRCODE = 'check_violation', TABLE = TG_TABLE_NAME, CONSTRAINT = 'organisation_is_elsewhere';
END $$;

-- Keeps everybody from writing anything of an organisation that is elsewhere, also a process that slept while it moved. To be called in the
-- transaction that changes where an organisation is: a trigger waits for whoever is writing to its table, so that whatever was under
-- way is committed before. Triggers are there only where an organisation is elsewhere, or was. Only the move itself, which names its
-- organisation, passes.
-- guard(schema: nothing is written of an organisation that is elsewhere): INSERT OR UPDATE%s ON ⇒ UPDATE%s ON
-- guard(schema: nothing is removed of an organisation that is elsewhere): EXECUTE format('CREATE OR REPLACE TRIGGER organisation_is_elsewhere_still ⇒ PERFORM format('CREATE OR REPLACE TRIGGER organisation_is_elsewhere_still
CREATE FUNCTION fence_organisations(tables text[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  elsewhere text := array_to_string(organisations_elsewhere(), ',');
  closing text := coalesce((SELECT string_agg(id::text, ',' ORDER BY id) FROM organisation WHERE residence = 'closing'), '');
  fenced text;
  columns text;
BEGIN
  FOREACH fenced IN ARRAY tables LOOP
    -- What is under way is still decided, and nothing new begins.
    IF fenced = 'transaction' AND (closing <> '' OR EXISTS (SELECT FROM pg_trigger
      WHERE tgrelid = fenced::regclass AND tgname = 'organisation_is_closing')) THEN
      EXECUTE format('CREATE OR REPLACE TRIGGER organisation_is_closing BEFORE INSERT ON transaction FOR EACH ROW
        WHEN (NEW.organisation_id = ANY (%L::integer[])) EXECUTE FUNCTION organisation_is_elsewhere()', '{' || closing || '}');
    END IF;
    CONTINUE WHEN elsewhere = '' AND NOT EXISTS (SELECT FROM pg_trigger
      WHERE tgrelid = fenced::regclass AND tgname = 'organisation_is_elsewhere');
    -- Processes note the last use of users while they serve.
    SELECT ' OF ' || string_agg(quote_ident(attname), ', ' ORDER BY attnum) INTO columns FROM pg_attribute
    WHERE fenced = 'gateway_user' AND attrelid = fenced::regclass AND attnum > 0 AND NOT attisdropped AND attname <> 'used_on';
    EXECUTE format('CREATE OR REPLACE TRIGGER organisation_is_elsewhere BEFORE INSERT OR UPDATE%s ON %I FOR EACH ROW
      WHEN (NEW.organisation_id = ANY (%L::integer[])
        AND current_setting(''tollgate.moving'', true) IS DISTINCT FROM NEW.organisation_id::text)
      EXECUTE FUNCTION organisation_is_elsewhere()', coalesce(columns, ''), fenced, '{' || elsewhere || '}');
    EXECUTE format('CREATE OR REPLACE TRIGGER organisation_is_elsewhere_still BEFORE DELETE ON %I FOR EACH ROW
      WHEN (OLD.organisation_id = ANY (%L::integer[])
        AND current_setting(''tollgate.moving'', true) IS DISTINCT FROM OLD.organisation_id::text)
      EXECUTE FUNCTION organisation_is_elsewhere()', fenced, '{' || elsewhere || '}');
  END LOOP;
END $$;
