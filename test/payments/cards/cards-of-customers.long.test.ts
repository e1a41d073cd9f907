// A customer is deleted: the effect on the cards in its transactions.
import { describe, expect, test, vi } from 'vitest';
import type { Answer, Order, StoredOrder } from '../../../src/acquirers/contract.js';
import { moveClockByMs } from '../../../testkit/bank-day.js';
import {
  auditOf,
  hasCard,
  OLD_PURCHASES,
  reviewedAtOnce,
  unreviewed,
  watchedCards,
} from '../../../testkit/card-reviews.js';
import { CARD } from '../../../testkit/client.js';
import { testGateway } from '../../../testkit/gateway.js';
import { locker, somebodyWaits, waitingForLocks } from '../../../testkit/locks.js';
import { ScriptedAcquirer } from '../../../testkit/scripted-acquirer.js';
import { vaultOf } from '../../../testkit/vault-client.js';

const DAY_MS = 86_400_000;

class WantsCards extends ScriptedAcquirer {
  readonly needsCard = true;
  prepare({ reference }: { reference: string }) {
    return { reference };
  }
}

describe('a customer is deleted', () => {
  // catches(customer: its cards go with it)
  // catches(card: destroyed only when it has ended)
  // catches(card: not kept for refunds of a deleted customer)
  test('→ the cards in its finished transactions are destroyed at once, others when their transaction ends', async () => {
    const gateway = await testGateway();
    const { api } = gateway;
    const vault = vaultOf(api);
    const { customerId, virtualPan: pan } = await vault.newToken();
    const other = await vault.newToken();
    const cards = watchedCards(gateway);
    cards.add('finished', await api.purchase({ pan, amount: 100 }));
    cards.add('of another', await api.purchase({ pan: other.virtualPan }));
    cards.add('by card', await api.purchase({ pan: CARD }));
    const release = await unreviewed(gateway);
    await gateway.advance('6d');
    cards.add('voidable', await api.purchase({ pan }));
    cards.add('completable', await api.preauthorise({ pan }));
    expect((await vault.deleteCustomer(customerId)).status).toBe(204);
    expect(await cards.alive()).toEqual(['of another', 'by card', 'voidable', 'completable']);
    expect(
      await gateway.sql(`SELECT detail FROM journal WHERE action = 'customer.deleted' AND customer_id = $1`, [
        customerId,
      ]),
    ).toEqual([{ detail: '1 cards of its transactions destroyed' }]);
    // The simulated acquirer needs no card for it.
    expect((await api.refund(cards.of('finished'), 40)).body.status.transaction_status_code).toBe('approved');
    await release();
    await gateway.advance('6d');
    await reviewedAtOnce(gateway);
    expect(await cards.alive()).toEqual(['of another', 'by card', 'completable']);
    await gateway.advance('2d');
    await reviewedAtOnce(gateway);
    expect(await cards.alive()).toEqual(['of another', 'by card']);
    // Only its token is deleted: payments made with it can be refunded as before.
    expect((await vault.deleteToken(other.customerId, other.id)).status).toBe(204);
    await gateway.advance('1h');
    await reviewedAtOnce(gateway);
    expect(await cards.alive()).toEqual(['of another', 'by card']);
  });

  // catches(card destruction: what a deletion leaves is worked off)
  test('with more transactions than one pass handles → the rest follows in the background', async () => {
    const gateway = await testGateway();
    const vault = vaultOf(gateway.api);
    const { customerId, id } = await vault.newToken();
    const release = await unreviewed(gateway);
    await gateway.sql(OLD_PURCHASES, [1, 1, 2_500, '10 days', id]);
    expect((await vault.deleteCustomer(customerId)).status).toBe(204);
    const left = () =>
      gateway.sql<{ left: number }>(
        'SELECT count(*)::integer AS left FROM transaction WHERE payment_details_sealed IS NOT NULL',
      );
    expect(await left()).toEqual([{ left: 1_500 }]);
    await release();
    await vi.waitFor(async () => expect(await left()).toEqual([{ left: 0 }]), { timeout: 300_000 });
    const tokens = () => gateway.sql('SELECT FROM card_of_deleted_customer');
    await vi.waitFor(async () => expect(await tokens()).toEqual([]), { timeout: 300_000 });
  });

  // catches(card: not destroyed while a refund of its completion begins)
  test('while a refund of its payment begins → the refund is decided, with the card or without', async () => {
    // Can neither refund nor reverse a refund without the card.
    class OpensCards extends WantsCards {
      /** How many refunds it has sent. */
      sent = 0;
      override async ask(order: Order): Promise<Answer> {
        const said = await super.ask(order);
        if (order.operation !== 'refund') return said;
        return order.openCard().then(
          () => {
            this.sent += 1;
            return { kind: 'unknown', reason: 'unreadable' };
          },
          () => ({ kind: 'not_sent' }),
        );
      }
      override async reverse(order: StoredOrder) {
        await order.openCard();
        return super.reverse(order);
      }
    }
    const acquirer = new OpensCards();
    const gateway = await testGateway({ acquirers: [acquirer] });
    const { api } = gateway;
    await gateway.sqlSealed(`UPDATE merchant SET acquirer = 'scripted'`);
    const vault = vaultOf(api);
    const { customerId, virtualPan: pan } = await vault.newToken();
    const completion = auditOf(
      await api.complete(auditOf(await api.preauthorise({ pan, amount: 100 })), 100),
    );
    await moveClockByMs(gateway, 6 * DAY_MS);
    const voidable = auditOf(await api.purchase({ pan }));
    // The deletion blocks while it holds the card of a transaction that can still be voided.
    const other = await locker(gateway);
    await other.query('INSERT INTO card_held VALUES (1, $1, 1, now())', [voidable]);
    const deleting = vault.deleteCustomer(customerId);
    await somebodyWaits(gateway);
    // A refund in doubt is reversed only after the deletion.
    acquirer.nextFindings(...Array(500).fill(() => deleting.then(() => ({ kind: 'not_seen' }))));
    const refunding = api.refund(completion, 10);
    // It was sent, or it is waiting as well.
    await vi.waitUntil(async () => acquirer.sent + (await waitingForLocks(gateway)).length > 1, {
      timeout: 300_000,
    });
    await other.rollback();
    expect((await deleting).status).toBe(204);
    const audit = Number((await refunding).headers.get('location')?.split('/').at(-1));
    expect((await api.decided(audit)).status.transaction_status_code).toBe('error');
  });

  // catches(card: the first look finds what was paid while the customer was deleted)
  test('while a payment with its token is in flight → the card of that payment is destroyed too', async () => {
    const gateway = await testGateway();
    const vault = vaultOf(gateway.api);
    const { customerId, id } = await vault.newToken();
    expect((await vault.deleteCustomer(customerId)).status).toBe(204);
    await gateway.sql(OLD_PURCHASES, [1, 1, 1, '1 hour', id]);
    await reviewedAtOnce(gateway);
    expect(await hasCard(gateway, 1_000_001)).toBe(false);
  });
});

// catches(refund: not without a card over a link that needs it)
test('refund over a link that needs the card of a deleted customer → refused, and nothing is stored', async () => {
  const gateway = await testGateway({ acquirers: [new WantsCards()] });
  const { api } = gateway;
  await gateway.sqlSealed(`UPDATE merchant SET acquirer = 'scripted'`);
  const vault = vaultOf(api);
  const { customerId, virtualPan: pan } = await vault.newToken();
  const audit = auditOf(await api.purchase({ pan, amount: 100 }));
  expect((await api.refund(audit, 10, { correlationId: 'refunded' })).status).toBe(201);
  await unreviewed(gateway);
  await moveClockByMs(gateway, 6 * DAY_MS);
  expect((await vault.deleteCustomer(customerId)).status).toBe(204);
  const refused = await api.refund(audit, 10);
  expect([refused.status, refused.code]).toEqual([422, 'target_not_refundable']);
  expect((await api.refund(audit, 10, { correlationId: 'refunded' })).status).toBe(409);
  expect(await gateway.sql('SELECT FROM transaction WHERE target_audit = $1', [audit])).toHaveLength(1);
});
