-- The correlation ID leads, so that the index serves only who asks for one. With the organisation in front it looks as
-- good as the primary key to whoever plans on an empty table, and a plan that is kept would read all of an organisation.
ALTER TABLE transaction DROP CONSTRAINT correlation_id_once,
  ADD CONSTRAINT correlation_id_once UNIQUE (correlation_id, merchant_id, organisation_id);
