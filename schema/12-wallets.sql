-- Payments by Apple Pay and Google Pay: the keys that these encrypt for, and which payloads were paid with.

CREATE TABLE wallet_key (
  organisation_id integer NOT NULL,
  merchant_id integer NOT NULL,
  -- Counts the keys of the merchant.
  number integer NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  type text NOT NULL CONSTRAINT wallet_known CHECK (type IN ('apple_pay', 'apple_pay_identity', 'google_pay')),
  -- Whom payloads are for, as the wallet calls it.
  recipient text NOT NULL CHECK (length(recipient) BETWEEN 1 AND 256),
  gateway_merchant text CHECK (length(gateway_merchant) BETWEEN 1 AND 256),
  public_key bytea NOT NULL,
  -- Whom the operator trusts to have signed payloads: certificates or public keys, as text. Of an identity, its own certificate.
  roots text NOT NULL,
  -- The private key, sealed.
  key_version integer NOT NULL,
  sealed bytea NOT NULL,
  PRIMARY KEY (organisation_id, merchant_id, number),
  FOREIGN KEY (organisation_id, merchant_id) REFERENCES merchant (organisation_id, id),
  FOREIGN KEY (organisation_id, merchant_id, key_version) REFERENCES data_key (organisation_id, merchant_id, version)
);

-- Each payload that was taken for a payment, as long as it could be opened again, and a day at least.
CREATE TABLE wallet_payload (
  organisation_id integer NOT NULL,
  -- An HMAC of what the wallet calls it.
  tag bytea NOT NULL,
  merchant_id integer NOT NULL,
  -- The correlation ID of its payment, and how many requests with that have taken it.
  taken_by text COLLATE "C" NOT NULL,
  takers integer NOT NULL DEFAULT 1,
  -- By the gateway's clock.
  ends_at timestamptz NOT NULL,
  PRIMARY KEY (organisation_id, tag),
  FOREIGN KEY (organisation_id, merchant_id) REFERENCES merchant (organisation_id, id)
);
CREATE INDEX wallet_payload_to_forget ON wallet_payload (ends_at);
