// One cell after the other cannot serve: it is frozen, killed, or has no space left on its disk. In the others payments go on as before.
import { type FileHandle, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Chance } from '../../testkit/chance.js';
import { percentile, say } from '../../testkit/report.js';
import type { Cell, CellName } from './cell.js';
import type { Seen, TradingOrganisation } from './organisation.js';

export interface OutagesOptions {
  readonly cells: Readonly<Record<CellName, Cell>>;
  readonly organisations: readonly TradingOrganisation[];
  readonly homes: ReadonlyMap<number, CellName>;
  readonly random: Chance;
  readonly seconds: number;
  /** A small one, where the database of the cell lies that runs out of space. */
  readonly disk: { readonly cell: CellName; readonly folder: string } | undefined;
}

/** What clients of some organisations got within a time. */
interface Service {
  readonly payments: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly refused: number;
}

interface Outage {
  readonly what: string;
  readonly cell: CellName;
  begin(): Promise<void>;
  end(): Promise<void>;
}

/** In the other cells, as shares of before: how long half of the payments may take, and how many are made at least. */
const SLOWEST = 2;
const FEWEST = 0.5;
const TRADE_LIMIT_MS = 120_000;
/** What a cell still pays when it is frozen or killed, at most, as a share of before: what was on its way. */
const LEFT_OVER = 0.1;

export class Outages {
  readonly slowed: string[] = [];
  readonly refused: string[] = [];
  readonly complaints: string[] = [];

  constructor(private readonly options: OutagesOptions) {}

  async run(): Promise<void> {
    const { cells, random, disk } = this.options;
    const [frozen, killed] = random.shuffled(Object.values(cells));
    if (frozen === undefined || killed === undefined) throw new Error('there are not enough cells');
    const outages = [freezing(frozen), killing(killed)];
    if (disk === undefined) say('skipped: without space on its disk (nothing can be mounted here)');
    else outages.push(filling(cells[disk.cell], disk.folder));
    for (const outage of outages) await this.#strike(outage);
  }

  async #strike({ what, cell, begin, end }: Outage): Promise<void> {
    const { organisations, homes } = this.options;
    const own = organisations.filter(({ id }) => homes.get(id) === cell);
    const others = organisations.filter(({ id }) => homes.get(id) !== cell);
    // Nobody is compared with a fleet that has just started, or still catches up.
    await this.#untilAllTrade(organisations, cell);
    const [before, ownBefore] = await Promise.all([this.#watch(others), this.#watch(own)]);
    await begin();
    const watching = Promise.all([this.#watch(others), this.#watch(own)]);
    const [during, ownDuring] = await watching.finally(end);
    const backMs = await this.#untilAllTrade(own, cell);
    const name = `cell ${cell} ${what}`;
    say(
      `… ${name} for ${this.options.seconds} s: in the other cells ${inWords(during)}, before ${inWords(before)}; ` +
        `in ${cell} itself ${inWords(ownDuring)}, before ${inWords(ownBefore)}; everybody trades there ${backMs} ms later`,
    );
    if (during.payments < FEWEST * before.payments || during.p50Ms > SLOWEST * before.p50Ms)
      this.slowed.push(`${name}: ${inWords(during)}, before ${inWords(before)}`);
    if (during.refused + before.refused > 0)
      this.refused.push(`${name}: ${during.refused} times 503, ${before.refused} before`);
    const hasStruck =
      what === WITHOUT_SPACE ? ownDuring.refused > 0 : ownDuring.payments < ownBefore.payments * LEFT_OVER;
    if (!hasStruck) this.complaints.push(`${name}, and still served: ${inWords(ownDuring)}`);
  }

  async #watch(group: readonly TradingOrganisation[]): Promise<Service> {
    const seen: Seen[] = [];
    for (const organisation of group) organisation.onAnswer = (one) => seen.push(one);
    await sleep(this.options.seconds * 1_000);
    for (const organisation of group) organisation.onAnswer = undefined;
    return serviceOf(seen);
  }

  async #untilAllTrade(own: readonly TradingOrganisation[], cell: CellName): Promise<number> {
    const beganMs = performance.now();
    const answered = new Map(own.map((organisation) => [organisation, organisation.answered]));
    const waiting = () => own.filter((each) => each.answered === answered.get(each));
    while (waiting().length > 0) {
      if (performance.now() - beganMs > TRADE_LIMIT_MS) {
        this.complaints.push(`${waiting().length} organisations of cell ${cell} do not trade any more`);
        break;
      }
      await sleep(20);
    }
    return Math.round(performance.now() - beganMs);
  }
}

function freezing(cell: Cell): Outage {
  return {
    what: 'frozen',
    cell: cell.name,
    begin: () => cell.suspend('SIGSTOP'),
    end: () => cell.suspend('SIGCONT'),
  };
}

function killing(cell: Cell): Outage {
  return { what: 'killed', cell: cell.name, begin: () => cell.goDown(), end: () => cell.comeBack() };
}

const WITHOUT_SPACE = 'without space on its disk';

function filling(cell: Cell, folder: string): Outage {
  const filler = join(folder, 'filler');
  return {
    what: WITHOUT_SPACE,
    cell: cell.name,
    begin: async () => {
      const file = await open(filler, 'w');
      try {
        for (const bytes of [1 << 23, 1 << 16, 1 << 12]) await writeUntilFull(file, Buffer.alloc(bytes));
      } finally {
        await file.close();
      }
    },
    end: async () => {
      await rm(filler);
      // A PostgreSQL that cannot write its log stops.
      await cell.comeBack();
    },
  };
}

async function writeUntilFull(file: FileHandle, piece: Buffer): Promise<void> {
  for (;;) {
    try {
      await file.write(piece);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOSPC') return;
      throw error;
    }
  }
}

function serviceOf(seen: readonly Seen[]): Service {
  const paid = seen.filter(({ method, status }) => method === 'POST' && status === 201);
  const times = paid.map(({ tookMs }) => tookMs);
  return {
    payments: paid.length,
    p50Ms: percentile(times, 0.5),
    p99Ms: percentile(times, 0.99),
    refused: seen.filter(({ status }) => status === 503).length,
  };
}

function inWords({ payments, p50Ms, p99Ms, refused }: Service): string {
  return `${payments} payments, p50 ${p50Ms} ms, p99 ${p99Ms} ms, ${refused} × 503`;
}
