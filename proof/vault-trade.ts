// Somebody who makes, changes and deletes customers and tokens, whether it is answered or not.
import { setTimeout as sleep } from 'node:timers/promises';
import { CARD, type Json } from '../testkit/bodies.js';
import { call, Unanswered } from '../testkit/caller.js';
import type { Chance } from '../testkit/chance.js';
import type { CalledGateway } from './shop.js';

export interface VaultTraderOptions {
  readonly gateways: readonly CalledGateway[];
  readonly random: Chance;
  readonly authorization: string;
  readonly name: string;
  readonly isOver: () => boolean;
}

export async function tradeInVault(options: VaultTraderOptions): Promise<void> {
  const { gateways, random, authorization, name, isOver } = options;
  const send = async (method: string, path: string, body?: Json): Promise<Json> => {
    const { baseUrl } = random.pick(gateways);
    try {
      return (
        await call({ baseUrl, authorization }, method, path, { ...(body && { body }), timeoutMs: 3_000 })
      ).body;
    } catch (error) {
      if (error instanceof Unanswered) return undefined;
      throw error;
    }
  };
  for (let serial = 1; !isOver(); serial += 1) {
    const customer = await send('POST', '/customers', {
      reference: `${name}-${serial}`,
      name: 'Ada Lovelace',
    });
    if (customer?.id !== undefined) {
      const path = `/customers/${customer.id}`;
      const account = {
        general_creditcard: { 'CARD.PAN': CARD, 'CARD.EXPIRY': '1239', 'CARD.NAME': 'Ada Lovelace' },
      };
      const token = await send('POST', `${path}/tokens`, { preferred_name: 'One', active: true, account });
      await send('PATCH', path, { name: `Ada ${serial}` });
      if (token?.id !== undefined) {
        await send('PATCH', `${path}/tokens/${token.id}`, { active: false });
        if (random.percent(30)) await send('DELETE', `${path}/tokens/${token.id}`);
      }
      if (random.percent(40)) await send('DELETE', path);
    }
    await sleep(random.below(100));
  }
}
