-- A database that has gone back, to a backup or to a standby that lacked commits: what was processed in the lost time is known to
-- acquirers and clients only. Until an operator has reconciled that time, nobody is told that a transaction is not there.

ALTER TABLE gateway
  -- From when to when. Empty where nothing is lost, or everything was reconciled.
  ADD lost_from timestamptz,
  ADD lost_until timestamptz,
  -- Who noted it, for as long as it is not in the journal: the key of the journal may come after the database.
  ADD lost_noted_by text,
  ADD CONSTRAINT lost_time_has_both_ends CHECK ((lost_from IS NULL) = (lost_until IS NULL));

ALTER TABLE organisation
  -- Audits that may have been given out in the lost time.
  ADD lost_first_audit integer,
  ADD lost_last_audit integer;

-- Which files of acquirers were reconciled since.
CREATE INDEX journal_of_reconciliations ON journal (id) WHERE action = 'settlement.reconciled';

-- When an endpoint that fails is tried with one message, although none is due: one that was mended is noticed soon.
ALTER TABLE webhook_endpoint ADD probe_at timestamptz;
