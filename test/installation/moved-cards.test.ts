// Cards on file move with their organisation: a token goes on to name its first payment.
import { expect, test } from 'vitest';
import type { Json } from '../../testkit/bodies.js';
import { twoCells } from '../../testkit/two-cells.js';
import { vaultOf } from '../../testkit/vault-client.js';

// catches(moving: a network transaction ID that was changed does not become genuine)
test('an organisation moves → what the network calls a token’s first payment goes along; one that was changed is not believed', async () => {
  const cells = await twoCells();
  const { one, two } = cells;
  try {
    const [kept, changed] = [await vaultOf(one.api).newToken(), await vaultOf(one.api).newToken()];
    for (const { virtualPan } of [kept, changed]) await one.api.purchase({ pan: virtualPan });
    await one.sql(`UPDATE token SET network_transaction_id = 'SIM000000000000' WHERE id = $1`, [changed.id]);
    const moved = await cells.command('one', 'organisation', 'move', '1', '--to', 'two');
    expect(moved.code, moved.stderr).toBe(0);
    const marks = async (cell: typeof one) =>
      (
        await cell.sql<Json>('SELECT encode(network_transaction_mark, $1) AS mark FROM token ORDER BY id', [
          'hex',
        ])
      ).map(({ mark }) => mark);
    const [before, after] = [await marks(one), await marks(two)];
    // Made anew under the key of the destination; what did not fit stays as it was, and fits nowhere.
    expect(after).toEqual([expect.not.stringMatching(before[0]), before[1]]);
    expect(after[0]).toMatch(/^[0-9a-f]{32}$/);
  } finally {
    await cells.close();
  }
});
