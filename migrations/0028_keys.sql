-- How much each data key has sealed. Every process adds what it has sealed from time to time, so that it is a little less than it is.
CREATE TABLE data_key_use (
  organisation_id integer NOT NULL,
  merchant_id integer NOT NULL,
  version integer NOT NULL,
  seals bigint NOT NULL,
  PRIMARY KEY (organisation_id, merchant_id, version)
) WITH (fillfactor = 50);
