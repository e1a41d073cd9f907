-- Commit B writes a second version of every row, a little longer than the first. With less than half of a page filled
-- the second versions of all its rows fit beside the first, and no index has to be touched for them.
ALTER TABLE transaction SET (fillfactor = 45);
