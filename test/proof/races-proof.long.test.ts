// The short form of `npm run proof races`, and whether its model can tell right from wrong.
import { describe, expect, test } from 'vitest';
import {
  born,
  explained,
  type Happening,
  isVoidable,
  type Life,
  type Operation,
  refundableCents,
  type State,
} from '../../proof/races/life.js';
import { runProof } from './program.js';

test('operations that collide on hot targets at two gateways → results that some order of them explains', async () => {
  const { code, output } = await runProof('races', ['--rounds', '6', '--seed', '20240422']);
  expect(output).toMatch(/^races: seed 20240422, 6 rounds .*; 0 promises broken$/m);
  expect(code).toBe(0);
});

describe('the model', () => {
  const lifeOf = (state: State | undefined, audit: number): Life => {
    const life = state?.get(audit);
    if (life === undefined) throw new Error(`nothing is known of audit ${audit}`);
    return life;
  };
  const refund = (amountCents: number, targetAudit = 1): Operation => ({
    kind: 'refund',
    targetAudit,
    amountCents,
  });
  const voiding = (targetAudit = 1): Operation => ({ kind: 'void', targetAudit });
  const completion = (amountCents: number): Operation => ({
    kind: 'completion',
    targetAudit: 1,
    amountCents,
  });
  const together = { sentMs: 0, answeredMs: 10 };
  const later = { sentMs: 20, answeredMs: 30 };
  const purchase = born(1, 'purchase', 100);
  const approved = (operation: Operation, audit: number, when = together): Happening => ({
    ...when,
    operation,
    audit,
    outcome: 'approved',
  });
  const refused = (operation: Operation, code: string, when = together): Happening => ({
    ...when,
    operation,
    refused: code,
  });

  test('two refunds that do not fit together, both accepted → no order explains it', () => {
    expect(explained(purchase, [approved(refund(60), 2), approved(refund(60), 3)])).toBeUndefined();
  });

  test('one of two refunds that do not fit together refused → explained, and 40 are left', () => {
    const state = explained(purchase, [
      refused(refund(60), 'refund_exceeds_original'),
      approved(refund(60), 2),
    ]);
    expect(refundableCents(lifeOf(state, 1))).toBe(40);
  });

  test('a refund and a void of its target, both accepted → no order explains it', () => {
    expect(explained(purchase, [approved(refund(1), 2), approved(voiding(), 3)])).toBeUndefined();
  });

  test('a refusal without a reason → no order explains it', () => {
    expect(explained(purchase, [refused(refund(60), 'refund_exceeds_original')])).toBeUndefined();
    const fitting = [approved(refund(60), 2), refused(refund(40), 'refund_exceeds_original')];
    expect(explained(purchase, fitting)).toBeUndefined();
  });

  test('a refusal for a reason that the target does not have → no order explains it', () => {
    const happenings = [approved(refund(100), 2), refused(refund(1), 'target_not_refundable', later)];
    expect(explained(purchase, happenings)).toBeUndefined();
  });

  test('refused while a declined refund still held the amount → explained; after its answer → not', () => {
    const declined = { ...approved(refund(100), 2), outcome: 'declined' };
    const refusal = (when: object) => refused(refund(50), 'refund_exceeds_original', when as typeof together);
    expect(explained(purchase, [declined, refusal(together)])).toBeDefined();
    expect(explained(purchase, [declined, refusal(later)])).toBeUndefined();
  });

  test('accepted before the operation it depends on → no order explains it', () => {
    const early = { sentMs: -20, answeredMs: -10 };
    expect(
      explained(purchase, [approved(refund(100), 2, early), approved(voiding(2), 3, later)]),
    ).toBeDefined();
    const backwards = [
      approved(refund(60), 4, early),
      approved(refund(60), 2),
      approved(voiding(4), 3, later),
    ];
    expect(explained(purchase, backwards)).toBeUndefined();
  });

  test('a voided refund releases its amount, a voided purchase nothing', () => {
    const givenBack = explained(purchase, [approved(refund(60), 2), approved(voiding(2), 3, later)]);
    expect(refundableCents(lifeOf(givenBack, 1))).toBe(100);
    expect(lifeOf(givenBack, 2).status).toBe('voided');
    const voided = explained(purchase, [approved(voiding(), 2)]);
    expect(refundableCents(lifeOf(voided, 1))).toBeUndefined();
    expect(isVoidable(lifeOf(voided, 1))).toBe(false);
  });

  test('two completions, both accepted → explained only if the first was not approved', () => {
    const preauthorisation = born(1, 'preauthorisation', 100);
    const [first, second] = [approved(completion(10), 2), approved(completion(90), 3)];
    expect(explained(preauthorisation, [first, second])).toBeUndefined();
    expect(explained(preauthorisation, [{ ...first, outcome: 'error' }, second])).toBeDefined();
    expect(explained(preauthorisation, [approved(completion(101), 2)])).toBeUndefined();
  });

  test('answered in doubt → the outcome may take effect at any later moment', () => {
    const doubtful = { ...approved(refund(100), 2), outcome: 'error', doubtful: true };
    const refusal = refused(refund(1), 'refund_exceeds_original', later);
    expect(explained(purchase, [doubtful, refusal])).toBeDefined();
    expect(explained(purchase, [{ ...doubtful, doubtful: false }, refusal])).toBeUndefined();
  });
});
