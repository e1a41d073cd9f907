// Who owns the tables: a rule of the house.

/** Which folder alone writes a table. Another one that has to, in a statement of its own, takes a fragment from the owner. */
export const TABLE_OWNERS: Readonly<Record<string, string | readonly string[]>> = {
  schema_migration: 'postgres',
  journal: 'journal',
  event: 'events',
  event_feed: 'events',
  event_sequencer: 'events',
  customer: 'vault',
  token: 'vault',
  data_key: 'vault',
  transaction: 'transactions',
  absence: 'transactions',
  audit_lease: 'transactions',
  process: 'transactions',
  sweep: 'transactions',
  settlement_entry: 'transactions',
  directdebit_file: 'directdebit',
  directdebit_item: 'directdebit',
  webhook_endpoint: 'webhooks',
  webhook_delivery: 'webhooks',
  webhook_attempt: 'webhooks',
  merchant: 'admin',
  gateway_user: 'admin',
  user_grant: 'admin',
  surcharge_rule: 'admin',
  direct_entry: 'admin',
  plugin_setting: 'admin',
  // Rows in which several folders have columns of their own: counters, and what an installation has only one of.
  organisation: ['admin', 'vault', 'transactions'],
  gateway: ['vault', 'transactions'],
};
