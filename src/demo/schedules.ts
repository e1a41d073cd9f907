// Schedules of the demo's gym: one that pays, one whose card was stolen, and one that is paused. The gateway pays them like any others.

import { gatewayTime } from '../clock/gateway-clock.js';
import type { Database } from '../postgres/database.js';
import { Schedules } from '../schedules/schedules.js';
import { CardNumber } from '../values/card.js';
import { cents } from '../values/money.js';
import { addDays, sydneyDate } from '../values/time.js';
import type { KeyProvider } from '../vault/keys/key-provider.js';
import { DataKeys } from '../vault/keys/keys.js';
import { Chance } from './chance.js';
import { demoVault } from './members.js';
import { HISTORY_USERNAME, type HistoryOwner } from './organisation.js';
import { personOf } from './people.js';
import { FEES } from './shops.js';

/** The simulated acquirer says that it was stolen. */
const STOLEN_CARD = '4100000000000431';

const MADE: readonly { readonly reference: string; readonly card?: string; readonly pauses?: boolean }[] = [
  { reference: 'membership-pays' },
  { reference: 'membership-stolen-card', card: STOLEN_CARD },
  { reference: 'membership-on-holiday', pauses: true },
];

/** Those that are there stay as they are. Each has one date: the demo's clock can be moved back only while nothing goes on by itself. */
export async function demoSchedules(
  database: Database,
  provider: KeyProvider,
  { organisationId, userId, merchants }: HistoryOwner,
  actor: string,
): Promise<void> {
  const merchantId = merchants.get(FEES.kind);
  if (merchantId === undefined) return;
  const nowMs = await gatewayTime(database);
  const keys = new DataKeys(database, provider);
  const schedules = new Schedules(database);
  const { customers, tokens } = demoVault(database, keys);
  for (const [index, { reference, card, pauses = false }] of MADE.entries()) {
    const correlationId = `demo-${reference}`;
    if ((await schedules.byCorrelationId(organisationId, merchantId, correlationId)) !== undefined) continue;
    const chance = new Chance(`${FEES.kind}/${reference}`);
    const access = {
      organisationId,
      merchantId,
      username: HISTORY_USERNAME,
      userId,
      address: '127.0.0.1',
      correlationId: chance.uuid(),
    };
    const person = personOf(FEES.kind, 1_001 + index);
    const { customer } = await customers.findOrCreate(access, reference, person.name);
    const { number, expiry } = person.card;
    const token = await tokens.create(access, customer.id, {
      preferredName: 'Membership',
      active: true,
      account: {
        type: 'general_creditcard',
        number: card === undefined ? number : new CardNumber(card),
        expiry,
        name: person.name,
      },
    });
    const { schedule } = await schedules.create(
      {
        organisationId,
        merchantId,
        correlationId,
        nowMs: Math.round(nowMs),
        userId,
        terms: {
          standing: 'active',
          reference,
          virtualPan: token.virtualPan,
          tokenId: token.id,
          customerId: customer.id,
          method: 'creditcard',
          amountCents: cents(4_900),
          currency: 'AUD',
          every: { weeks: 1 },
          anchors: [{ n: 1, date: addDays(sydneyDate(nowMs), pauses ? 7 : 0) }],
          count: 1,
          onFailure: 'continue',
        },
      },
      { actor },
    );
    if (pauses) await schedules.pause(schedule, { actor });
  }
  await keys.recordSeals();
}
