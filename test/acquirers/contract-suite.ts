// What every link to an acquirer must do, simulated or real. A new link is run through this suite unchanged.
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type {
  AcquirerLink,
  Answer,
  Finding,
  MoneyOperation,
  Order,
  PaymentMethod,
  Prepared,
} from '../../src/acquirers/contract.js';
import { withoutChance } from '../../testkit/requests.js';
import {
  bankPayment,
  cardPayment,
  type OrderChange,
  onTarget,
  opened,
  type PaymentOrder,
  prepare,
  SECRETS,
  stored,
} from './orders.js';

export interface LinkTraits {
  /** `card`: decides at once. `bank_account`: takes everything in, to be decided in some days. */
  readonly takes: PaymentMethod['kind'];
  /** Whether its acquirer can be asked what became of an order. */
  readonly inquiries: boolean;
  readonly prepares: boolean;
}

/** A link with everything around it that the suite needs. */
export interface LinkUnderTest {
  readonly link: AcquirerLink;
  /** A card number that it answers with this response code, which the suite knows to approve, decline or be a fault. */
  cardAnsweredWith(responseCode: '00' | '05' | '96'): string;
  /** Everything that it has written so far, to files, logs and unprotected wires. */
  written(): Promise<string>;
  /** Takes away what it works with (its file, its connection), so that whatever it is asked goes wrong. */
  breakDown(): Promise<void>;
  cleanUp(): Promise<void>;
}

const PAYMENTS = ['purchase', 'preauthorisation', 'standalone_refund'] as const;
const ON_A_TARGET = [
  ['completion', 'preauthorisation'],
  ['refund', 'purchase'],
  ['void', 'purchase'],
] as const;
const KINDS = ['approved', 'declined', 'faulty', 'pending', 'not_sent', 'unknown'];

export function linkContract(
  name: string,
  { takes, inquiries, prepares }: LinkTraits,
  make: () => Promise<LinkUnderTest>,
): void {
  const byCard = takes === 'card';
  const good = byCard ? 'approved' : 'pending';

  describe(`${name} keeps the contract of acquirer links`, () => {
    let subject: LinkUnderTest;
    let link: AcquirerLink;
    beforeEach(async () => {
      subject = await make();
      ({ link } = subject);
      await opened(link);
    });
    afterEach(async () => {
      await link.close();
      await subject.cleanUp();
    });

    function order(change: OrderChange = {}): PaymentOrder {
      const { pan = subject.cardAnsweredWith('00') } = change;
      return byCard ? cardPayment(pan, change) : bankPayment(change);
    }

    /** As the pipeline does: prepared, stored, asked once. */
    async function ask(asked: Order, prepared?: Prepared) {
      const given = prepared ?? (await prepare(link, asked));
      return { answer: await link.ask(asked, given, () => true), prepared: given };
    }
    const inquire = (asked: Order, prepared: Prepared) => link.inquire(stored(asked), prepared);
    const reverse = (asked: Order, prepared: Prepared) => link.reverse(stored(asked), prepared);
    /** Asked about what it has answered. */
    function expectFound(found: Finding, answer: Answer): void {
      expect(found).toEqual(inquiries ? answer : { kind: 'not_seen' });
    }

    test('has a name for the settings, and is test, live, or follows the merchant', () => {
      expect(link.name).toMatch(/^[a-z][a-z0-9_-]*$/);
      expect(['test', 'live', 'of_merchant']).toContain(link.mode);
    });

    test('closed, and closed again → no failure; opened again → answers', async () => {
      await link.close();
      await link.close();
      await opened(link);
      expect((await ask(order())).answer.kind).toBe(good);
    });

    test(prepares ? 'prepares → JSON, another for each order' : 'prepares nothing', async () => {
      const prepared = [await link.prepare?.(order()), await link.prepare?.(order())];
      if (!prepares) {
        expect(prepared).toEqual([undefined, undefined]);
        return;
      }
      expect(JSON.parse(JSON.stringify(prepared))).toEqual(prepared);
      expect(prepared[0]).not.toEqual(prepared[1]);
    });

    test.each(PAYMENTS)(
      '%s, a good account → approved with its code and text, or accepted as pending',
      async (operation) => {
        const { answer } = await ask(order({ operation }));
        if (!byCard) {
          expect(answer).toEqual({ kind: 'pending' });
          return;
        }
        expect(answer).toMatchObject({
          kind: 'approved',
          responseCode: '00',
          responseMessage: expect.stringMatching(/./),
          authorisationCode: expect.stringMatching(/./),
        });
        if (operation === 'preauthorisation') {
          expect(answer).toHaveProperty('preauthorisationCode', expect.stringMatching(/^.{1,12}$/));
        }
        if ('settlementDate' in answer) expect(answer.settlementDate).toMatch(/^\d{4}-\d\d-\d\d$/);
      },
    );

    test.each(ON_A_TARGET)('%s of a %s that it has accepted → accepted too', async (operation, on) => {
      const target = order({ operation: on });
      const asked = await ask(target);
      expect(asked.answer.kind).toBe(good);
      const { answer } = await ask(onTarget(operation, target, asked));
      expect(answer.kind).toBe(operation === 'void' ? 'approved' : good);
    });

    if (byCard) {
      test.each([
        ['05', 'declined'],
        ['96', 'faulty'],
      ] as const)('card answered with %s → %s', async (code, kind) => {
        const { answer } = await ask(order({ pan: subject.cardAnsweredWith(code) }));
        expect(answer).toMatchObject({ kind, responseCode: code });
      });
    }

    test.each(['00', '05', '96'] as const)(
      'inquiry after an answer with %s → the same answer each time; not seen if the link has no inquiries',
      async (code) => {
        const asked = order({ pan: subject.cardAnsweredWith(code), operation: 'preauthorisation' });
        const { answer, prepared } = await ask(asked);
        expectFound(await inquire(asked, prepared), answer);
        expectFound(await inquire(asked, prepared), answer);
      },
    );

    test('inquiry about an order that was never sent → not seen, or accepted by then', async () => {
      await ask(order());
      const never = order();
      const found = await inquire(never, await prepare(link, never));
      expect(found).toEqual(byCard ? { kind: 'not_seen' } : { kind: 'pending' });
    });

    test('many at once → each answered, and each found under its own reference', async () => {
      const orders = Array.from({ length: 40 }, (_, index) =>
        order({ pan: subject.cardAnsweredWith(index % 2 ? '00' : '05') }),
      );
      const asked = await Promise.all(orders.map(async (each) => ({ each, ...(await ask(each)) })));
      for (const { each, answer, prepared } of asked) expectFound(await inquire(each, prepared), answer);
      const declined = asked.filter(({ answer }) => answer.kind === 'declined');
      expect(declined).toHaveLength(byCard ? 20 : 0);
    });

    describe('reversal', () => {
      test('of an approved payment → reversed, and an inquiry finds no approval afterwards', async () => {
        const asked = order();
        const { answer, prepared } = await ask(asked);
        expect(answer.kind).toBe(good);
        expect(await reverse(asked, prepared)).toBe('reversed');
        expectNoApproval(await inquire(asked, prepared));
      });

      test('of one payment → another stays as it was', async () => {
        const [reversed, kept] = [order(), order()];
        const first = await ask(reversed);
        const second = await ask(kept);
        await reverse(reversed, first.prepared);
        expectFound(await inquire(kept, second.prepared), second.answer);
      });

      test('of a payment that it never saw → reversed', async () => {
        const never = order();
        const prepared = await prepare(link, never);
        expect(await reverse(never, prepared)).toBe('reversed');
        expectNoApproval(await inquire(never, prepared));
      });

      test.each([...PAYMENTS, 'completion', 'refund'] as const)(
        'of a %s before it arrives → refused',
        async (operation) => {
          const target = order({ operation: operation === 'completion' ? 'preauthorisation' : 'purchase' });
          const asked = await ask(target);
          const late = isPayment(operation) ? order({ operation }) : onTarget(operation, target, asked);
          const prepared = await prepare(link, late);
          expect(await reverse(late, prepared)).toBe('reversed');
          expectNoApproval((await ask(late, prepared)).answer);
          expectNoApproval(await inquire(late, prepared));
        },
      );

      // A void of what is pending is done before anybody is asked.
      if (byCard) {
        test('of a void before it arrives → refused', async () => {
          const target = order();
          const late = onTarget('void', target, await ask(target));
          const prepared = await prepare(link, late);
          expect(await reverse(late, prepared)).toBe('reversed');
          expectNoApproval((await ask(late, prepared)).answer);
        });
      }

      test('a second and a third time → reversed each time', async () => {
        const asked = order();
        const { prepared } = await ask(asked);
        for (let time = 1; time <= 3; time += 1) expect(await reverse(asked, prepared)).toBe('reversed');
        expectNoApproval(await inquire(asked, prepared));
      });
    });

    test('every kind of request → an answer of the contract, never an exception', async () => {
      const unasked = order();
      const target = { prepared: await prepare(link, unasked) };
      const odd: Order[] = [
        order({ amountCents: '999999999999' }),
        order({ amountCents: '1', currency: 'JPY' }),
        order({ pan: '4222222222222' }),
        order({ pan: '4000000000000000006' }),
        order({ atMs: 0 }),
        onTarget('refund', unasked, target),
        onTarget('void', unasked, target),
        onTarget('completion', unasked, target),
      ];
      for (const asked of odd) expect(KINDS).toContain((await ask(asked)).answer.kind);
      for (const reference of ['', 'X', '"', '\n', 'é', 'T'.repeat(5_000)]) {
        const asked = order({ reference });
        const { kind } = await inquire(asked, await prepare(link, asked));
        expect(kind).toBe(byCard ? 'not_seen' : 'pending');
      }
    });

    test('card number, account number and CVV → in nothing that it prepares, logs or answers', async () => {
      const said: unknown[] = [];
      const pans = (['00', '05', '96'] as const).map((code) => subject.cardAnsweredWith(code));
      for (const pan of pans) {
        for (const operation of PAYMENTS) {
          const asked = order({ pan, operation });
          const { answer, prepared } = await ask(asked);
          said.push(answer, prepared, await inquire(asked, prepared));
        }
      }
      expectScrubbed(`${everythingIn(said)} ${await subject.written()}`, pans);
    });

    test('a broken link → no approval, and no card number or CVV in its errors', async () => {
      const asked = order();
      const prepared = await prepare(link, asked);
      await subject.breakDown();
      // A link may throw before it has promised anything.
      const outcome = await (async () => link.ask(asked, prepared, () => true))().catch(
        (error: unknown) => error,
      );
      expect((outcome as Answer).kind).not.toBe('approved');
      expectScrubbed(everythingIn(outcome), [subject.cardAnsweredWith('00')]);
    });
  });
}

function isPayment(operation: MoneyOperation): operation is PaymentOrder['operation'] {
  return (PAYMENTS as readonly MoneyOperation[]).includes(operation);
}

function expectNoApproval(said: Answer | Finding): void {
  expect(said.kind).not.toBe('approved');
  expect(said.kind).not.toBe('unknown');
}

function everythingIn(value: unknown): string {
  return inspect(value, { depth: 20, showHidden: true, maxArrayLength: null, maxStringLength: null });
}

function expectScrubbed(text: string, pans: readonly string[]): void {
  for (const secret of [...pans, ...SECRETS]) expect(withoutChance(text)).not.toContain(secret);
}
