// What every link to an acquirer must do, simulated or real. A new adapter is run through this suite unchanged.
import { randomUUID } from 'node:crypto';
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type {
  Acquirer,
  AcquirerRequest,
  Answer,
  Finding,
  MoneyOperation,
} from '../../src/acquirers/contract.js';
import { CardNumber, Cvv } from '../../src/values/card.js';
import { cents } from '../../src/values/money.js';

/** An acquirer with everything around it that the suite needs. */
export interface AcquirerUnderTest {
  readonly acquirer: Acquirer;
  /** A card number that it answers with this response code. */
  cardAnsweredWith(responseCode: '00' | '05' | '96'): string;
  /** Everything that it has written so far, to files, logs and unprotected wires. */
  written(): Promise<string>;
  /** Takes away what it works with (its file, its connection), so that whatever it is asked goes wrong. */
  breakDown(): Promise<void>;
  close(): Promise<void>;
}

const DEADLINE_MS = 20_000;
const CVV = '7391';
const PAYMENTS: readonly MoneyOperation[] = ['purchase', 'preauthorisation', 'standalone_refund'];
const ON_A_TARGET: readonly [MoneyOperation, on: MoneyOperation][] = [
  ['completion', 'preauthorisation'],
  ['refund', 'purchase'],
  ['void', 'purchase'],
];

export function acquirerContract(name: string, make: () => Promise<AcquirerUnderTest>): void {
  describe(`${name} keeps the contract of acquirers`, () => {
    let subject: AcquirerUnderTest;
    let acquirer: Acquirer;
    beforeEach(async () => {
      subject = await make();
      ({ acquirer } = subject);
    });
    afterEach(() => subject.close());

    function request(change: Partial<AcquirerRequest> & { pan?: string } = {}): AcquirerRequest {
      const { pan = subject.cardAnsweredWith('00'), ...rest } = change;
      const card = new CardNumber(pan);
      return {
        operation: 'purchase',
        reference: `T-1-${randomUUID()}`,
        amountCents: cents('1995'),
        currency: 'AUD',
        card: { number: card, expiry: { month: 12, year: 2039 }, cvv: new Cvv(CVV) },
        cardMask: card.mask,
        atMs: Date.now(),
        ...rest,
      };
    }

    function onTarget(operation: MoneyOperation, target: AcquirerRequest): AcquirerRequest {
      const { card: _, ...rest } = target;
      return { ...rest, operation, reference: `T-1-${randomUUID()}`, targetReference: target.reference };
    }

    const ask = (asked: AcquirerRequest): Promise<Answer> => acquirer.ask(asked, DEADLINE_MS);

    test('has a name to be configured by', () => {
      expect(acquirer.name).toMatch(/^[a-z][a-z0-9_-]*$/);
    });

    test.each(PAYMENTS)(
      '%s, a good card → approved, with its code, its words and an authorisation code',
      async (operation) => {
        const answer = await ask(request({ operation }));
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

    test.each(ON_A_TARGET)('%s of an approved %s, without the card → approved', async (operation, on) => {
      const target = request({ operation: on });
      expect((await ask(target)).kind).toBe('approved');
      expect((await ask(onTarget(operation, target))).kind).toBe('approved');
    });

    test.each([
      ['05', 'declined'],
      ['96', 'faulty'],
    ] as const)('answered with %s → %s', async (code, kind) => {
      const answer = await ask(request({ pan: subject.cardAnsweredWith(code) }));
      expect(answer).toMatchObject({ kind, responseCode: code });
    });

    test.each(['00', '05', '96'] as const)(
      'inquiry after an answer with %s → the same answer',
      async (code) => {
        const asked = request({ pan: subject.cardAnsweredWith(code), operation: 'preauthorisation' });
        const answer = await ask(asked);
        expect(await acquirer.inquire(asked.reference, 'purchase')).toEqual(answer);
        expect(await acquirer.inquire(asked.reference, 'purchase')).toEqual(answer);
      },
    );

    test('inquiry of a reference that it never saw → not seen', async () => {
      await ask(request());
      expect(await acquirer.inquire(`T-1-${randomUUID()}`, 'purchase')).toEqual({ kind: 'not_seen' });
    });

    test('many at once → each answered, and each found under its own reference', async () => {
      const asked = Array.from({ length: 40 }, (_, index) =>
        request({ pan: subject.cardAnsweredWith(index % 2 ? '00' : '05') }),
      );
      const answers = await Promise.all(asked.map(ask));
      const found = await Promise.all(asked.map(({ reference }) => acquirer.inquire(reference, 'purchase')));
      expect(found).toEqual(answers);
      expect(answers.filter(({ kind }) => kind === 'approved')).toHaveLength(20);
    });

    test('reversal of what it approved → reversed, and an inquiry finds no approval any more', async () => {
      const asked = request();
      expect((await ask(asked)).kind).toBe('approved');
      expect(await acquirer.reverse(asked.reference)).toBe('reversed');
      expectNoApproval(await acquirer.inquire(asked.reference, 'purchase'));
    });

    test('reversal of one → another stays approved', async () => {
      const [reversed, kept] = [request(), request()];
      await ask(reversed);
      await ask(kept);
      await acquirer.reverse(reversed.reference);
      expect((await acquirer.inquire(kept.reference, 'purchase')).kind).toBe('approved');
    });

    test('reversal of what it never saw → reversed', async () => {
      const reference = `T-1-${randomUUID()}`;
      expect(await acquirer.reverse(reference)).toBe('reversed');
      expectNoApproval(await acquirer.inquire(reference, 'purchase'));
    });

    test.each([...PAYMENTS, 'completion', 'refund', 'void'] as const)(
      '%s that arrives after its reversal → refused',
      async (operation) => {
        const target = request({ operation: operation === 'completion' ? 'preauthorisation' : 'purchase' });
        await ask(target);
        const late = PAYMENTS.includes(operation) ? request({ operation }) : onTarget(operation, target);
        expect(await acquirer.reverse(late.reference)).toBe('reversed');
        expectNoApproval(await ask(late));
        expectNoApproval(await acquirer.inquire(late.reference, 'purchase'));
      },
    );

    test('reversal, a second and a third time → reversed each time', async () => {
      const asked = request();
      await ask(asked);
      for (let time = 1; time <= 3; time += 1)
        expect(await acquirer.reverse(asked.reference)).toBe('reversed');
      expectNoApproval(await acquirer.inquire(asked.reference, 'purchase'));
    });

    test('whatever can be asked → an answer of the contract, never a throw', async () => {
      const KINDS = ['approved', 'declined', 'faulty', 'not_sent', 'unknown'];
      const odd: AcquirerRequest[] = [
        request({ amountCents: cents('999999999999') }),
        request({ amountCents: cents('1'), currency: 'JPY' }),
        request({ pan: '4222222222222' }),
        request({ pan: '4000000000000000006' }),
        request({ atMs: 0 }),
        onTarget('refund', request()),
        onTarget('void', request()),
        onTarget('completion', request()),
      ];
      for (const asked of odd) expect(KINDS).toContain((await ask(asked)).kind);
      for (const reference of ['', 'X', '"', '\n', 'é', 'T'.repeat(5_000)]) {
        expect(await acquirer.inquire(reference, 'purchase')).toEqual({ kind: 'not_seen' });
      }
    });

    test('the card number and the CVV → in nothing that it writes or answers', async () => {
      const answers: unknown[] = [];
      const pans = (['00', '05', '96'] as const).map((code) => subject.cardAnsweredWith(code));
      for (const pan of pans) {
        for (const operation of PAYMENTS) {
          const asked = request({ pan, operation });
          answers.push(await ask(asked), await acquirer.inquire(asked.reference, 'purchase'));
        }
      }
      expectScrubbed(`${everythingIn(answers)} ${await subject.written()}`, pans);
    });

    test('broken down → no approval, and the card number and the CVV in nothing that it throws', async () => {
      const asked = request();
      await subject.breakDown();
      const outcome = await ask(asked).catch((error: unknown) => error);
      expect((outcome as Answer).kind).not.toBe('approved');
      expectScrubbed(everythingIn(outcome), [asked.card?.number.reveal() ?? '']);
    });
  });
}

function expectNoApproval(said: Answer | Finding): void {
  expect(said.kind).not.toBe('approved');
  expect(said.kind).not.toBe('unknown');
}

function everythingIn(value: unknown): string {
  return inspect(value, { depth: 20, showHidden: true, maxArrayLength: null, maxStringLength: null });
}

function expectScrubbed(text: string, pans: readonly string[]): void {
  for (const pan of pans) expect(text).not.toContain(pan);
  expect(text).not.toContain(CVV);
}
