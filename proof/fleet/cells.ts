// The fleet that the proof attacks: three cells that ask one acquirer, the entrance before them, and organisations spread over them.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type LedgerEntry, readLedger } from '../../src/acquirers/simulator/ledger.js';
import type { Chance } from '../../testkit/chance.js';
import { freePort } from '../../testkit/gateway-process.js';
import { leaveNothing, temporaryFolder } from '../../testkit/temporary-folder.js';
import { subjectsOf } from '../arena/feed-reader.js';
import { CELLS, Cell, type CellName } from './cell.js';
import { Entrance } from './entrance.js';
import { TradingOrganisation } from './organisation.js';

const WEBHOOK_EVERY = 3;
/** Voids end when the business day closes. */
const HOUR_MS = 3_600_000;

export interface FleetOptions {
  readonly gateways: number;
  readonly organisations: number;
  readonly random: Chance;
  /** So many payments the first organisation has when the proof begins. */
  readonly stored?: number;
  /** Of clients, between two look-ups of what is in doubt. */
  readonly lookedAgainMs?: number;
  /** Where the database of a cell lies, if not in the fleet's folder. */
  readonly databaseFolders?: Partial<Record<CellName, string>>;
}

export class FleetOfCells {
  private constructor(
    readonly cells: Readonly<Record<CellName, Cell>>,
    readonly entrance: Entrance,
    readonly organisations: readonly TradingOrganisation[],
    /** Where each lives by now. */
    readonly homes: Map<number, CellName>,
    private readonly ledgerPath: string,
  ) {}

  static async open({
    gateways,
    organisations,
    random,
    stored = 0,
    lookedAgainMs,
    databaseFolders,
  }: FleetOptions): Promise<FleetOfCells> {
    const folder = temporaryFolder('fleet');
    for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => process.exit(1));
    const ledgerPath = join(folder, 'ledger.ndjson');
    const opened: Cell[] = [];
    for (const name of CELLS) {
      process.once('exit', () => leaveNothing(join(folder, name)));
      const ports = await Promise.all(Array.from({ length: gateways }, freePort));
      opened.push(
        await Cell.open({ name, folder, ledgerPath, ports, databaseFolder: databaseFolders?.[name] }),
      );
    }
    const cells = Object.fromEntries(opened.map((cell) => [cell.name, cell])) as Record<CellName, Cell>;
    const fleetFile = { cells: opened.map(({ listed }) => listed) };
    await writeFile(join(folder, 'fleet.json'), JSON.stringify(fleetFile));
    const homes = new Map<number, CellName>();
    const added: TradingOrganisation[] = [];
    for (let serial = 1; serial <= organisations; serial += 1) {
      const cell = opened[serial % opened.length] as Cell;
      const hasWebhook = serial % WEBHOOK_EVERY === 0;
      const one = await TradingOrganisation.add({
        cell,
        serial,
        random: random.fork(),
        hasWebhook,
        stored: serial === 1 ? stored : 0,
        lookedAgainMs,
      });
      homes.set(one.id, cell.name);
      added.push(one);
    }
    await Promise.all(opened.map((cell) => cell.startGateways()));
    if (isLate()) for (const cell of opened) await cell.command('clock', 'advance', '2h');
    const entrance = await Entrance.open({ folder, cells: opened });
    await Promise.all(added.map((one) => one.prepare(entrance)));
    return new FleetOfCells(cells, entrance, added, homes, ledgerPath);
  }

  /** What is in doubt where it lives, or was when the time was up. */
  async untilDecided(limitMs: number): Promise<string[]> {
    const untilMs = performance.now() + limitMs;
    for (;;) {
      const undecided: string[] = [];
      for (const name of CELLS)
        for (const { id, audit } of await this.cells[name].sql<{ id: number; audit: number }>(
          `SELECT organisation_id AS id, audit FROM transaction WHERE status = 'unknown'`,
        ))
          if (this.homes.get(id) === name)
            undecided.push(`organisation ${id}, audit ${audit}, in cell ${name}`);
      if (undecided.length === 0 || performance.now() > untilMs) return undecided;
      await sleep(200);
    }
  }

  /** Until the readers have as many events as there were changes, or the time is up. */
  async untilAllRead(limitMs: number): Promise<void> {
    const untilMs = performance.now() + limitMs;
    for (const { id, merchantId, reader } of this.organisations) {
      const cell = this.cells[this.homes.get(id) as CellName];
      const subjects = await subjectsOf({ sql: (text, values) => cell.sql(text, values), merchantId });
      const changes = subjects.reduce((sum, { version }) => sum + version, 0);
      while (reader.events.length < changes && performance.now() < untilMs) await sleep(50);
    }
  }

  /** Of the acquirer. */
  async ledger(): Promise<LedgerEntry[]> {
    const entries: LedgerEntry[] = [];
    for await (const entry of readLedger(this.ledgerPath)) entries.push(entry);
    return entries;
  }

  async close(): Promise<void> {
    this.entrance.close();
    for (const { webhooks } of this.organisations) await webhooks?.close();
    await Promise.all(CELLS.map((name) => this.cells[name].close()));
  }
}

/** Whether the business day closes soon, at 18:00 in Sydney. */
function isLate(): boolean {
  const of = (atMs: number) =>
    Number(
      new Intl.DateTimeFormat('en', {
        hour: 'numeric',
        hourCycle: 'h23',
        timeZone: 'Australia/Sydney',
      }).format(atMs),
    );
  return of(Date.now()) < 18 && of(Date.now() + HOUR_MS) >= 18;
}
