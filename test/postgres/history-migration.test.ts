// What becomes of the transactions of an installation from before there were lists of them.
import { expect, test } from 'vitest';
import { beforeMigration } from '../../testkit/earlier-schema.js';

const HISTORY = '0014_history.sql';

const DATA = `
  INSERT INTO organisation (name) VALUES ('Ours'), ('Theirs');
  INSERT INTO merchant (organisation_id, name) VALUES (1, 'One'), (2, 'Two');
  INSERT INTO transaction (organisation_id, audit, created_at, amount_cents, merchant_id, gateway_status_code, transaction_type,
    status, currency, correlation_id, reference, acquirer, token_id, target_audit)
  SELECT organisation, audit, now(), 100, organisation, 0, type, 'approved', 'AUD', organisation || '-' || audit, 'r', 'simulator',
    token, target
  FROM (VALUES (1, 1, 'preauthorisation', 77, NULL), (1, 2, 'completion', NULL, 1), (1, 3, 'refund', NULL, 2),
    (1, 4, 'void', NULL, 3), (1, 5, 'purchase', NULL, NULL), (1, 6, 'refund', NULL, 5), (2, 1, 'purchase', NULL, NULL),
    (2, 2, 'refund', NULL, 1)) AS made(organisation, audit, type, token, target)`;

test('what was done to a payment by token has its token, however far down; an index that is there already is left alone', async () => {
  await beforeMigration(HISTORY, DATA, async ({ client, text, migrate }) => {
    // As the operator of a large installation does it beforehand.
    const statements = text.match(/^CREATE INDEX [^;]+;/gm) ?? [];
    expect(statements).toHaveLength(8);
    for (const statement of statements) {
      await client.query(statement.replace('CREATE INDEX', 'CREATE INDEX CONCURRENTLY'));
    }
    await migrate();
    const { rows } = await client.query(
      'SELECT organisation_id AS of, audit, token_id AS token FROM transaction ORDER BY organisation_id, audit',
    );
    expect(rows.map(({ of, audit, token }) => [of, audit, token])).toEqual([
      [1, 1, 77],
      [1, 2, 77],
      [1, 3, 77],
      [1, 4, 77],
      [1, 5, null],
      [1, 6, null],
      [2, 1, null],
      [2, 2, null],
    ]);
  });
});
