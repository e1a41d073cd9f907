-- A secret of a webhook that was rotated does not come back.

ALTER TABLE webhook_endpoint ADD secret_version integer NOT NULL DEFAULT 1;
