-- When the database was last backed up, and when it was brought back: looked for among all entries of the journal.
CREATE INDEX journal_of_backups ON journal (id) WHERE action IN ('gateway.backed_up', 'gateway.restored');

-- When a transaction was written to an archive and lost what only the archive keeps: the key-value pairs that its client sent, and what
-- its link needed to inquire about it or to reverse it. The rest stays: the audit is the lasting identifier, and a correlation ID that
-- was won is won for good.
ALTER TABLE transaction ADD archived_at timestamptz;
