-- What was decided, apart from what a client sent.

ALTER TABLE transaction
  -- What the plugins decided: {"originalCents": the amount as submitted, "decisions": {plugin: its own}}. Empty where none did.
  ADD pricing json,
  -- When the status was last set, by the gateway's clock. Searches by correlation ID count their hours from it.
  ADD decided_at timestamptz;

UPDATE transaction SET decided_at = created_at WHERE status <> 'unknown';

-- The gateway's time, which may run ahead of real time.
CREATE FUNCTION gateway_now() RETURNS timestamptz LANGUAGE sql STABLE AS $$
  SELECT now() + advanced_ms * interval '1 millisecond' FROM gateway
$$;
