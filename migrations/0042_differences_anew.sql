-- A difference that somebody has looked at, and that is found again with something else in the gateway's books, is another one: it is to
-- be looked at again, and the first keeps its note as it was.
ALTER TABLE settlement_difference DROP CONSTRAINT difference_once,
  ADD CONSTRAINT difference_once UNIQUE (settlement_date, acquirer, kind, reference, there, here);
