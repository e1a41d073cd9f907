// Shops as processes of their own: each is killed now and then and started again on its books, until all its orders have an outcome;
// then the next one opens.
import { execFile } from 'node:child_process';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Chance } from '../../testkit/chance.js';
import { start } from '../../testkit/gateway-process.js';
import { compiledProgram, PROJECT_ROOT } from '../../testkit/project.js';

export interface ShopCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
}

/** An order as the books have it. */
export interface BookedOrder {
  /** Of which shop, and which number. */
  readonly name: string;
  /** Every one that the books have ever had for it. There should be one. */
  readonly correlationIds: readonly string[];
  readonly amountCents: number;
  readonly state: string;
  readonly audit: number | undefined;
}

/** How long a shop may need in peace, when all kills are done. */
const PEACE_MS = 300_000;
/** Between two kills of a shop. */
const LIFE_MS = { least: 2_000, most: 40_000 };

/** Undefined where its tools are missing. */
export async function commandOf(client: string): Promise<ShopCommand | undefined> {
  if (client === 'typescript') {
    return { command: process.execPath, args: [compiledProgram('proof/client/trader')], environment: {} };
  }
  if (client !== 'python') throw new Error(`there is no client ${client}`);
  const python = await promisify(execFile)('python3', ['--version']).then(
    () => 'python3',
    () => undefined,
  );
  if (python === undefined) return undefined;
  const folder = join(PROJECT_ROOT, 'client', 'python');
  return {
    command: python,
    args: [join(folder, 'examples', 'shop.py')],
    environment: { PYTHONPATH: folder, PYTHONDONTWRITEBYTECODE: '1' },
  };
}

/** One shop with books of its own. */
export class Shift {
  constructor(
    readonly books: string,
    readonly environment: Readonly<Record<string, string>>,
  ) {}

  async orders(): Promise<BookedOrder[]> {
    const lines = (await readFile(this.books, 'utf8').catch(() => '')).split('\n');
    const orders = new Map<number, BookedOrder>();
    for (const line of lines) {
      const entry = entryIn(line);
      if (entry === undefined) continue;
      const { order, correlationId, amountCents, state, audit } = entry;
      const known = orders.get(order)?.correlationIds ?? [];
      orders.set(order, {
        name: `${this.environment.SHOP_SEED}-${order}`,
        correlationIds: [...new Set([...known, correlationId])],
        amountCents,
        state,
        audit,
      });
    }
    return [...orders.values()];
  }

  async bookedBytes(): Promise<number> {
    return stat(this.books).then(
      ({ size }) => size,
      () => 0,
    );
  }

  /** How many orders it should have in the end. */
  get due(): number {
    return Number(this.environment.SHOP_ORDERS);
  }
}

interface Line extends Pick<BookedOrder, 'amountCents' | 'state' | 'audit'> {
  readonly order: number;
  readonly correlationId: string;
}

/** A line that was cut short is no entry: the shop was killed while it wrote. */
function entryIn(line: string): Line | undefined {
  try {
    const entry = JSON.parse(line) as Line;
    return typeof entry?.order === 'number' ? entry : undefined;
  } catch {
    return undefined;
  }
}

export interface ShiftsOptions {
  readonly command: ShopCommand;
  readonly random: Chance;
  readonly open: (number: number) => Shift;
  readonly isOver: () => boolean;
}

export function shiftsOf({ command, random, open, isOver }: ShiftsOptions) {
  const done: Shift[] = [];
  const complaints: string[] = [];
  const shifts = {
    done,
    complaints,
    kills: 0,
    async run(): Promise<void> {
      do {
        const shift = open(done.length + 1);
        done.push(shift);
        await seeThrough(shift);
      } while (!isOver() && complaints.length === 0);
    },
  };

  async function seeThrough(shift: Shift): Promise<void> {
    const environment = { ...command.environment, ...shift.environment, SHOP_BOOKS: shift.books };
    let inPeaceSinceMs: number | undefined;
    // A shop asks for everything it has left open before it places it again. On a slow machine that may take longer than a life, so one
    // that came to nothing is followed by a longer one.
    let longer = 1;
    for (;;) {
      if (isOver()) inPeaceSinceMs ??= performance.now();
      const bookedBytes = await shift.bookedBytes();
      const process = start(command.args, environment, { command: command.command, keep: 'the end' });
      const lifeMs = isOver() ? PEACE_MS : longer * random.between(LIFE_MS.least, LIFE_MS.most);
      const waiting = new AbortController();
      const killed = sleep(lifeMs, true, { signal: waiting.signal }).catch(() => false);
      const isDue = await Promise.race([process.ended.then(() => false), killed]);
      waiting.abort();
      if (isDue && process.kill('SIGKILL')) shifts.kills += 1;
      const { code, signal } = await process.ended;
      if (code === 0) return check(shift);
      longer = (await shift.bookedBytes()) === bookedBytes ? 2 * longer : 1;
      if (signal !== 'SIGKILL')
        complaints.push(`${shift.books} ended with ${signal ?? code}: ${process.output()}`);
      else if (inPeaceSinceMs !== undefined && performance.now() - inPeaceSinceMs > PEACE_MS) {
        complaints.push(`${shift.books} was not done after ${PEACE_MS / 1000} s of peace`);
      } else continue;
      return;
    }
  }

  async function check(shift: Shift): Promise<void> {
    const { length } = await shift.orders();
    if (length !== shift.due) complaints.push(`${shift.books} has ${length} orders instead of ${shift.due}`);
  }

  return shifts;
}
