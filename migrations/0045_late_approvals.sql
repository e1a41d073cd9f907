-- So long after its last heartbeat a process may be presumed dead. It goes by the same time itself, and stops claiming and sending
-- before: whoever looks after the dead uses the timeout of each, not its own.
ALTER TABLE process ADD timeout_ms integer NOT NULL DEFAULT 5000 CHECK (timeout_ms > 0);

-- A reversal that the host answered with "never seen" is weaker than any other: the host may read the payment later, and charge it.
-- So the answer is kept, together with what a late approval is known by.
ALTER TABLE acquirer_reversal
  -- None where the next reversal of the order is to be a new one.
  ALTER stan DROP NOT NULL,
  -- Of the order that is reversed.
  ADD terminal text,
  ADD original_stan integer,
  ADD retrieval_reference text,
  -- With which the host acknowledged it, and whether that means "never seen".
  ADD code text,
  ADD unseen boolean NOT NULL DEFAULT false,
  -- When the host approved the order although its reversal had begun.
  ADD approved_at timestamptz,
  -- Its authorisation code, for the next reversal: one that is repeated has the same fields as before.
  ADD approval_code text,
  -- When the order is to be reversed again; `infinity` while the answer to its reversal is still to come.
  ADD again_at timestamptz,
  ADD again_attempts integer NOT NULL DEFAULT 0;
CREATE INDEX acquirer_reversal_original ON acquirer_reversal (acquirer, terminal, original_stan);
CREATE INDEX acquirer_reversal_again ON acquirer_reversal (again_at) WHERE again_at IS NOT NULL;
CREATE INDEX acquirer_reversal_unseen ON acquirer_reversal (acquirer, begun_at) WHERE unseen OR approved_at IS NOT NULL;
