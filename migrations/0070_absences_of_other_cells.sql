-- What a gateway has received before an organisation came from another cell, whose searches may have denied it, is not processed.

ALTER TABLE organisation ADD arrived_absence bigint NOT NULL DEFAULT 0;

CREATE OR REPLACE FUNCTION absent_after(organisation integer, merchant integer, sent text, known bigint, asking bigint) RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  RETURN (SELECT forgotten_absence > known FROM gateway)
    OR (SELECT o.arrived_absence > known FROM organisation o WHERE o.id = organisation) OR EXISTS (
    SELECT FROM absence WHERE organisation_id = organisation AND merchant_id = merchant AND correlation_id = sent
      AND number > known AND process_id <> asking);
END $$;
