-- Rules of the surcharge plugin. A merchant without rules has the plugin switched off.

CREATE TABLE surcharge_rule (
  organisation_id integer NOT NULL,
  merchant_id integer NOT NULL,
  scope text NOT NULL CHECK (scope = 'default' OR scope ~ '^(method|card):[a-z]+$'),
  -- Thousandths of a percent.
  thousandths integer NOT NULL CHECK (thousandths BETWEEN 0 AND 100000),
  first_day date,
  last_day date,
  CHECK (first_day <= last_day),
  UNIQUE NULLS NOT DISTINCT (organisation_id, merchant_id, scope, first_day),
  FOREIGN KEY (organisation_id, merchant_id) REFERENCES merchant (organisation_id, id)
);
