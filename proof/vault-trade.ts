// Somebody who makes, changes and deletes customers and tokens, each until it is answered.
import { setTimeout as sleep } from 'node:timers/promises';
import { cardAccount } from '../testkit/bodies.js';
import { clientOfSeveral, type SeveralGateways } from '../testkit/several-gateways.js';

export interface VaultTraderOptions extends SeveralGateways {
  readonly name: string;
  readonly isOver: () => boolean;
}

export async function tradeInVault({ name, isOver, ...several }: VaultTraderOptions): Promise<void> {
  const { random } = several;
  const { customers, tokens } = clientOfSeveral({
    ...several,
    requestTimeoutMs: 3_000,
    outcomeTimeoutMs: 300_000,
    firstPauseMs: 20,
    longestPauseMs: 500,
  });
  for (let serial = 1; !isOver(); serial += 1) {
    const { id } = await customers.create({ reference: `${name}-${serial}`, name: 'Ada Lovelace' });
    const card = { preferred_name: 'One', active: true, account: cardAccount() };
    const token = await tokens.create(id, card);
    await customers.update(id, { name: `Ada ${serial}` });
    await tokens.update(id, token.id, { active: false });
    if (random.percent(30)) await tokens.delete(id, token.id);
    if (random.percent(40)) await customers.delete(id);
    await sleep(random.below(100));
  }
}
