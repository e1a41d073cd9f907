// An organisation moves to and fro while it trades, and the command that moves it is killed at every step: nothing is lost, nothing is
// paid twice, and never do two cells pay.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { leaveNothingBehind, start } from '../../testkit/gateway-process.js';
import { type TwoCells, twoCells } from '../../testkit/two-cells.js';

type CellName = 'one' | 'two';
type Step = 'copying' | 'closing' | 'closed' | 'open';

const SOON = { timeout: 300_000, interval: 50 };
const TRADERS = 6;

let cells: TwoCells;
beforeAll(async () => {
  cells = await twoCells({ settings: { ACQUIRER_DEADLINE_MS: '1500' } });
});
afterAll(async () => {
  await cells?.close();
  await leaveNothingBehind();
});

interface Sent {
  readonly correlationId: string;
  /** In which cells it was approved, with the audit. */
  readonly approved: Map<CellName, number>;
  inDoubt: boolean;
}

/** Clients that pay without a pause. One that is refused tries the other cell with the same correlation ID, as behind a proxy. */
class Trade {
  readonly sent: Sent[] = [];
  readonly #until = new AbortController();
  #last: CellName = 'one';
  readonly #all: readonly Promise<void>[];
  longestGapMs = 0;
  #approvedAtMs = performance.now();

  constructor() {
    this.#all = Array.from({ length: TRADERS }, () => this.#client());
  }

  get approved(): number {
    return this.sent.filter(({ approved }) => approved.size > 0).length;
  }

  async end(): Promise<void> {
    this.#until.abort();
    await Promise.all(this.#all);
  }

  async #client(): Promise<void> {
    while (!this.#until.signal.aborted) {
      const one: Sent = { correlationId: randomUUID(), approved: new Map(), inDoubt: false };
      this.sent.push(one);
      await this.#pay(one);
    }
  }

  async #pay(one: Sent): Promise<void> {
    for (let cell = this.#last; ; cell = cell === 'one' ? 'two' : 'one') {
      const answer = await cells[cell].api.purchase({ amount: 100, correlationId: one.correlationId });
      if (answer.status === 201) {
        one.approved.set(cell, answer.body.audit);
        this.#last = cell;
        const nowMs = performance.now();
        this.longestGapMs = Math.max(this.longestGapMs, nowMs - this.#approvedAtMs);
        this.#approvedAtMs = nowMs;
        return;
      }
      if (answer.status === 504) one.inDoubt = true;
      // Paid already, by an attempt whose answer was lost.
      if (answer.status === 409) return;
      if (![421, 503, 504, 401].includes(answer.status))
        throw new Error(`unexpected: ${answer.status} ${answer.text}`);
      if (this.#until.signal.aborted) return;
      await sleep(20);
    }
  }
}

const sqlIn = async (cell: CellName, text: string) =>
  (await cells[cell].sql<Record<string, string>>(text))[0];
const other = (cell: CellName): CellName => (cell === 'one' ? 'two' : 'one');

const command = (from: CellName, ...words: string[]) =>
  start(['organisation', 'move', '1', '--to', other(from), '--json', ...words], cells.environment(from));

async function reaches(from: CellName, step: Step): Promise<boolean> {
  const there = await sqlIn(from, 'SELECT residence FROM organisation WHERE id = 1');
  const move = await sqlIn(
    other(from),
    'SELECT state FROM organisation_move WHERE organisation_id = 1 AND arrives ORDER BY begun_at DESC LIMIT 1',
  );
  switch (step) {
    case 'copying':
      return there?.residence === 'here' && move?.state === 'copying';
    case 'open':
      return there?.residence === 'closed' && move?.state === 'open';
    default:
      return there?.residence === step;
  }
}

/** Kills a move as soon as it has come to a step; whatever holds it there is let go. */
async function killedAt(from: CellName, step: Step): Promise<void> {
  const moving = command(from);
  let holds: Promise<unknown> | undefined;
  for (let ended = false; !ended; ) {
    if (step === 'open' && holds === undefined && (await reaches(from, 'closed')))
      // The source cannot say yet that it has left.
      holds = cells[from].sql(
        'SELECT pg_sleep(4) FROM (SELECT FROM organisation WHERE id = 1 FOR UPDATE) held',
      );
    if (await reaches(from, step)) break;
    ended = await Promise.race([moving.ended.then(() => true), sleep(5).then(() => false)]);
    if (ended) throw new Error(`ended before ${step}: ${(await moving.ended).stderr}`);
  }
  moving.kill('SIGKILL');
  await moving.ended;
  await holds;
}

async function done(from: CellName, ...words: string[]): Promise<Record<string, unknown>> {
  const { code, stdout, stderr } = await command(from, ...words).ended;
  if (code !== 0) throw new Error(stderr);
  return JSON.parse(stdout);
}

test('killed at every step, resumed or taken back, while it trades → nothing lost, nothing twice', async () => {
  const trade = new Trade();
  await vi.waitFor(() => expect(trade.approved).toBeGreaterThan(50), SOON);
  const closedMs: number[] = [];
  const finish = async (from: CellName) => {
    const { outcome, closed_ms } = await done(from);
    expect(outcome).toBe('moved');
    if (typeof closed_ms === 'number') closedMs.push(closed_ms);
    const before = trade.approved;
    await vi.waitFor(() => expect(trade.approved).toBeGreaterThan(before + 20), SOON);
  };
  const takeBack = async (from: CellName) => {
    expect(await done(from, '--take-back')).toMatchObject({ outcome: 'taken back' });
    const before = trade.approved;
    await vi.waitFor(() => expect(trade.approved).toBeGreaterThan(before + 20), SOON);
  };

  await killedAt('one', 'copying');
  await finish('one');
  await killedAt('two', 'closing');
  await finish('two');
  await killedAt('one', 'closed');
  await takeBack('one');
  await killedAt('one', 'closed');
  await finish('one');
  await killedAt('two', 'copying');
  await takeBack('two');
  await killedAt('two', 'open');
  // What was opened is not taken back.
  await expect(done('two', '--take-back')).rejects.toThrow('pays in cell one by now');
  await finish('two');
  await trade.end();

  const { one } = cells;
  await vi.waitFor(
    async () =>
      expect(
        await one.sql(`SELECT FROM transaction WHERE organisation_id = 1 AND status = 'unknown'`),
      ).toHaveLength(0),
    SOON,
  );
  const stored = await one.sql<{ audit: number; status: string; correlation_id: string }>(
    'SELECT audit, status, correlation_id FROM transaction WHERE organisation_id = 1',
  );
  const byId = new Map(stored.map((row) => [row.correlation_id, row]));
  expect(byId.size).toBe(stored.length);
  const lost = trade.sent.filter(({ correlationId, approved }) =>
    [...approved.values()].some((audit) => {
      const row = byId.get(correlationId);
      return row?.audit !== audit || row.status !== 'approved';
    }),
  );
  expect(lost).toEqual([]);
  expect(trade.sent.filter(({ approved }) => approved.size > 1)).toEqual([]);
  // The acquirer has charged what is approved, each once.
  const charged = (await one.ledger()).filter(
    ({ operation, responseCode }) => operation === 'purchase' && responseCode === '00',
  );
  const audits = charged.map(({ reference }) => Number(reference.split('-')[2]));
  expect(new Set(audits).size).toBe(audits.length);
  const approved = stored.filter(({ status }) => status === 'approved').map(({ audit }) => audit);
  expect(approved.toSorted((a, b) => a - b)).toEqual(audits.toSorted((a, b) => a - b));
  for (const cell of ['one', 'two'] as const)
    for (const what of ['keys', 'journal'])
      expect(JSON.parse((await cells.command(cell, what, 'verify', '--json')).stdout)).toMatchObject({
        problems: [],
      });
  expect((await cells.command('one', 'figures', 'check')).code).toBe(0);
  process.stdout.write(
    `${trade.sent.length} sent, ${trade.approved} approved, closed for ${closedMs} ms, longest gap ${Math.round(trade.longestGapMs)} ms\n`,
  );
});
