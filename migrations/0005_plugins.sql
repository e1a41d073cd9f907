-- What merchants have switched on, whichever plugin it is.

-- Settings of plugins that have no table of their own.
CREATE TABLE plugin_setting (
  organisation_id integer NOT NULL,
  merchant_id integer NOT NULL,
  plugin text NOT NULL,
  settings json NOT NULL,
  PRIMARY KEY (organisation_id, merchant_id, plugin),
  FOREIGN KEY (organisation_id, merchant_id) REFERENCES merchant (organisation_id, id)
);

CREATE VIEW merchant_plugin AS
  SELECT organisation_id, merchant_id, plugin, settings FROM plugin_setting
  UNION ALL
  SELECT organisation_id, merchant_id, 'surcharge',
    json_agg(json_build_object('scope', scope, 'thousandths', thousandths, 'from', first_day, 'until', last_day))
  FROM surcharge_rule GROUP BY organisation_id, merchant_id;
