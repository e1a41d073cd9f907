// The acquirer of a crash proof that is reached over ISO 8583: a host in a process of its own, which is killed, cut off and closed to
// newcomers while gateways trade with it, and its ledger in the words of the simulator's.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LedgerEntry } from '../src/acquirers/simulator/ledger.js';
import type { StoredTransaction } from '../testkit/books.js';
import type { Chance } from '../testkit/chance.js';
import type { Installation } from '../testkit/installation.js';
import { HostProcess } from '../testkit/iso8583-host/host-process.js';
import type { Entry } from '../testkit/iso8583-host/ledger.js';

const NAME = 'host';
const KEYS = ['0123456789ABCDEFFEDCBA9876543210', '7CA110454A1A6E570131D9619DC1376E'];
const DEADLINE_MS = '1000';
const DEATHS = ['dies before booking', 'dies after booking', 'dies inside the answer'] as const;

interface Sent {
  readonly audit: number;
  readonly prepared: { readonly stan: number; readonly terminal: string; readonly sentMs: number };
}

export class IsoAcquirer {
  /** How often what was done to it. */
  readonly done: Record<string, number> = {};
  #isOver = false;
  #disturbing: Promise<void> = Promise.resolve();

  private constructor(
    private readonly installation: Installation,
    private readonly host: HostProcess,
    private readonly random: Chance,
    private readonly folder: string,
  ) {}

  /** The merchant pays over it from now on. */
  static async start(installation: Installation, random: Chance): Promise<IsoAcquirer> {
    const folder = await mkdtemp(join(tmpdir(), 'tollgate-host-'));
    const host = await HostProcess.start({
      ledgerPath: join(folder, 'ledger'),
      macKeys: [...KEYS].reverse().join(':'),
    });
    const keyFile = join(folder, 'mac.key');
    await writeFile(keyFile, KEYS.join('\n'));
    const how = ['--kind', 'iso8583', '--address', host.address, '--test', '--connections', '2'];
    const more = ['--deadline', DEADLINE_MS, '--institution', '560279', '--mac-key-file', keyFile];
    await installation.command('acquirer', 'add', NAME, ...how, ...more);
    const acceptor = ['--acceptor-id', 'SHOP', '--terminals', 'T1,T2', '--category-code', '5999'];
    await installation.command(
      'merchant',
      'set',
      `${installation.merchantId}`,
      '--acquirer',
      NAME,
      ...acceptor,
    );
    return new IsoAcquirer(installation, host, random, folder);
  }

  get deeds(): number {
    return Object.values(this.done).reduce((sum, times) => sum + times, 0);
  }

  disturb(): void {
    this.#disturbing = this.#disturb();
  }

  /** From now on it is left in peace. */
  async leaveInPeace(): Promise<void> {
    this.#isOver = true;
    await this.#disturbing;
    await this.host.clearRules();
  }

  async #disturb(): Promise<void> {
    while (!this.#isOver) {
      await sleep(this.random.between(300, 3_000));
      const deed = this.random.pick(['killed', 'cut off', 'not listening', ...DEATHS]);
      await this.#do(deed);
      this.done[deed] = (this.done[deed] ?? 0) + 1;
    }
  }

  async #do(deed: string): Promise<void> {
    switch (deed) {
      case 'cut off':
        await this.host.closeConnections();
        return;
      case 'not listening':
        await this.host.stopListening();
        await sleep(this.random.below(500));
        await this.host.listen();
        return;
      case 'killed':
        await this.host.kill();
        break;
      default:
        await this.host.rule({ fault: deed as (typeof DEATHS)[number], times: 1 });
        await Promise.race([this.host.ended, sleep(3_000)]);
        // Nothing may have come to it.
        await this.host.kill();
    }
    await sleep(this.random.below(300));
    await this.host.restart();
  }

  /** Its ledger, by the references of the gateway. */
  async entries(rows: readonly StoredTransaction[]): Promise<LedgerEntry[]> {
    const sent = await this.installation.sql<Sent>(
      'SELECT audit, prepared FROM transaction WHERE prepared IS NOT NULL AND organisation_id = 1',
    );
    const byAudit = new Map(rows.map((row) => [row.audit, row]));
    const byKey = new Map(sent.map(({ audit, prepared }) => [keyOf(prepared), byAudit.get(audit)]));
    const referenceOf = (key: string) => byKey.get(key)?.acquirerReference ?? key;
    return this.host
      .entries()
      .flatMap((entry) => asBooked(entry, referenceOf, (key) => byKey.get(key)?.type === 'void'));
  }

  /** What it had to complain of, and what it was never told the end of. */
  async complaints(): Promise<string[]> {
    const complaints = await this.host.complaints();
    const open = await this.installation.sql<{ reference: string }>(
      'SELECT reference FROM acquirer_reversal WHERE acknowledged_at IS NULL',
    );
    return [
      ...complaints.map(({ what, mti, key, detail }) => `${what}: ${mti} ${key ?? ''} ${detail ?? ''}`),
      ...open.map(({ reference }) => `the reversal of ${reference} was not acknowledged`),
    ];
  }

  async close(): Promise<void> {
    await this.host.stop();
    await rm(this.folder, { recursive: true, force: true });
  }
}

/** As the host knows it: terminal, day and STAN. */
function keyOf({ stan, terminal, sentMs }: Sent['prepared']): string {
  const day = new Date(sentMs).toISOString().slice(5, 10).replace('-', '');
  return `${terminal}/${day}/${String(stan).padStart(6, '0')}`;
}

/** A reversal is a void where the gateway has a void under its STAN. */
function asBooked(
  entry: Entry,
  referenceOf: (key: string) => string,
  isVoid: (key: string) => boolean,
): LedgerEntry[] {
  if (entry.kind === 'decided') {
    const { atMs, key, operation, amountCents, currency, cardMask, responseCode, original } = entry;
    const targetReference = original === undefined ? {} : { targetReference: referenceOf(original) };
    return [
      {
        atMs,
        reference: referenceOf(key),
        operation,
        amountCents,
        currency,
        cardMask,
        responseCode,
        ...targetReference,
      },
    ];
  }
  if (entry.kind !== 'reversed') return [];
  const { atMs, key, original } = entry;
  if (!isVoid(key)) return [{ atMs, reference: referenceOf(original), operation: 'reversal' }];
  const targetReference = referenceOf(original);
  return [{ atMs, reference: referenceOf(key), operation: 'void', targetReference, responseCode: '00' }];
}
