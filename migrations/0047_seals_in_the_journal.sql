-- The journal seals what directs cards and money, and who may do what. What is there already is sealed by `tollgate migrate`, or by the
-- first start.

ALTER TABLE journal ADD COLUMN subject text, ADD COLUMN subject_version integer, ADD COLUMN seal bytea,
  ADD CONSTRAINT seal_is_whole CHECK (num_nonnulls(subject, subject_version, seal) IN (0, 3));
CREATE INDEX journal_of_seals ON journal (subject, subject_version DESC) INCLUDE (seal) WHERE subject IS NOT NULL;

-- The journal numbers the versions of links and of routes by now.
ALTER TABLE acquirer DROP COLUMN version, ADD COLUMN plaintext_known boolean NOT NULL DEFAULT false;
DROP SEQUENCE acquirer_version;
ALTER TABLE merchant DROP COLUMN routes_version;
