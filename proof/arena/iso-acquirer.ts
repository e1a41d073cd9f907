// The acquirer of a crash proof that is reached over ISO 8583: a host in a process of its own, which is killed, cut off and closed to
// newcomers while gateways trade with it, and its ledger in the words of the simulator's.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LedgerEntry } from '../../src/acquirers/simulator/ledger.js';
import type { StoredTransaction } from '../../testkit/books.js';
import type { Chance } from '../../testkit/chance.js';
import type { RunningProcess } from '../../testkit/gateway-process.js';
import type { Installation, InstalledDatabase } from '../../testkit/installation.js';
import { HostProcess } from '../../testkit/iso8583-host/host-process.js';
import type { Entry } from '../../testkit/iso8583-host/ledger.js';
import { temporaryFolder } from '../../testkit/temporary-folder.js';
import { CuttingRelay, MESSAGE_TYPES, VICTIMS } from './cutting-relay.js';
import { retrievalReferencesIn } from './link-arena.js';
import { SentNumbers } from './sent-numbers.js';

const KEYS = ['0123456789ABCDEFFEDCBA9876543210', '7CA110454A1A6E570131D9619DC1376E'];
const DEADLINE_MS = 1_000;
const DEATHS = ['dies before booking', 'dies after booking', 'dies inside the answer'] as const;
const AT_MESSAGE = 'killed at a message';
/** Nearly two of three are at a message: there are many kinds of those. */
const DEEDS = ['killed', 'cut off', 'not listening', ...DEATHS, ...new Array<string>(10).fill(AT_MESSAGE)];
const MESSAGE_LIMIT_MS = 5_000;
/** With so many kills there is time for every kind of message. */
const MANY_KILLS = 200;

export interface IsoAcquirerOptions {
  /** Of the link. */
  readonly name?: string;
  /** For how long it does not listen, at most. */
  readonly awayMs?: number;
  /** Of the link. */
  readonly deadlineMs?: number;
}

interface Parts extends Required<Omit<IsoAcquirerOptions, 'deadlineMs'>> {
  readonly installation: Installation<InstalledDatabase>;
  readonly host: HostProcess;
  readonly relay: CuttingRelay;
  readonly random: Chance;
}

export class IsoAcquirer {
  /** How often what was done to it. */
  readonly done: Record<string, number> = {};
  #isOver = false;
  #disturbing: Promise<unknown> = Promise.resolve();

  private constructor(private readonly parts: Parts) {}

  get name(): string {
    return this.parts.name;
  }

  /** For whoever disturbs it in other ways. */
  get host(): HostProcess {
    return this.parts.host;
  }

  get relay(): CuttingRelay {
    return this.parts.relay;
  }

  /** The merchant pays over it from now on. */
  static async start(
    installation: Installation<InstalledDatabase>,
    random: Chance,
    { name = 'host', awayMs = 500, deadlineMs = DEADLINE_MS }: IsoAcquirerOptions = {},
  ): Promise<IsoAcquirer> {
    const folder = temporaryFolder('host');
    const host = await HostProcess.start({
      ledgerPath: join(folder, 'ledger'),
      macKeys: [...KEYS].reverse().join(':'),
    });
    const relay = await CuttingRelay.open(host.port, random.fork());
    const keyFile = join(folder, 'mac.key');
    await writeFile(keyFile, KEYS.join('\n'));
    const how = ['--kind', 'iso8583', '--address', relay.address, '--test', '--connections', '2'];
    const more = ['--deadline', `${deadlineMs}`, '--institution', '560279', '--mac-key-file', keyFile];
    await installation.command('acquirer', 'add', name, ...how, ...more);
    const acceptor = ['--acceptor-id', 'SHOP', '--terminals', 'T1,T2', '--category-code', '5999'];
    await installation.command(
      'merchant',
      'set',
      `${installation.merchantId}`,
      '--acquirer',
      name,
      ...acceptor,
    );
    return new IsoAcquirer({ installation, host, relay, random, name, awayMs });
  }

  get deeds(): number {
    return Object.values(this.done).reduce((sum, times) => sum + times, 0);
  }

  disturb(): void {
    this.#disturbing = Promise.all([this.#disturb(), this.#cutConnections()]);
  }

  /** At a message to or from this process. */
  killAtMessage({ pid: gatewayPid, ended }: RunningProcess, kill: () => void): void {
    void this.parts.relay.strikeAt('gateway', { gatewayPid, until: ended, strike: kill });
  }

  /** How often who was struck before, inside and after messages of each type. */
  get strikes(): string {
    return VICTIMS.map((victim) => `${victim} at ${this.parts.relay.inWords(victim)}`).join('; ');
  }

  /** Types of messages at which somebody was never struck. */
  unstruck(kills: number): string[] {
    if (kills < MANY_KILLS) return [];
    return VICTIMS.flatMap((victim) =>
      MESSAGE_TYPES.filter((type) => this.parts.relay.timesOf(victim, type) === 0).map(
        (type) => `${victim} at ${type}`,
      ),
    );
  }

  /** From now on it is left in peace. */
  async leaveInPeace(): Promise<void> {
    this.#isOver = true;
    await this.#disturbing;
    await this.parts.host.clearRules();
  }

  async #disturb(): Promise<void> {
    while (!this.#isOver) {
      await sleep(this.parts.random.between(300, 2_000));
      const deed = this.parts.random.pick(DEEDS);
      await this.#do(deed);
      this.done[deed] = (this.done[deed] ?? 0) + 1;
    }
  }

  async #cutConnections(): Promise<void> {
    while (!this.#isOver) {
      await sleep(this.parts.random.between(300, 1_500));
      await this.parts.relay.strikeAt('connection', { until: sleep(MESSAGE_LIMIT_MS) });
    }
  }

  async #do(deed: string): Promise<void> {
    switch (deed) {
      case 'cut off':
        await this.parts.host.closeConnections();
        return;
      case 'not listening':
        await this.parts.relay.stopListening();
        await sleep(this.parts.random.below(this.parts.awayMs));
        await this.parts.relay.listen();
        return;
      case AT_MESSAGE:
        await this.parts.relay.strikeAt('host', {
          until: sleep(MESSAGE_LIMIT_MS),
          strike: () => void this.parts.host.kill(),
        });
        await sleep(5);
        await this.parts.host.kill();
        break;
      case 'killed':
        await this.parts.host.kill();
        break;
      default:
        await this.parts.host.rule({ fault: deed as (typeof DEATHS)[number], times: 1 });
        await Promise.race([this.parts.host.ended, sleep(3_000)]);
        // Nothing may have come to it.
        await this.parts.host.kill();
    }
    await sleep(this.parts.random.below(300));
    await this.parts.host.restart();
  }

  /** Its ledger, by the references of the gateway. */
  async entries(rows: readonly StoredTransaction[]): Promise<LedgerEntry[]> {
    const sent = await SentNumbers.read(this.parts.installation);
    const byAudit = new Map(rows.map((row) => [row.audit, row]));
    const rowOf = (key: string) => byAudit.get(sent.auditOf(key) ?? 0);
    const referenceOf = (key: string) => rowOf(key)?.acquirerReference ?? key;
    return this.parts.host
      .entries()
      .flatMap((entry) => asBooked(entry, referenceOf, (key) => rowOf(key)?.type === 'void'));
  }

  /** What it had to complain of. */
  async complaints(): Promise<string[]> {
    const complaints = await this.parts.host.complaints();
    return complaints.map(({ what, mti, key, detail }) => `${what}: ${mti} ${key ?? ''} ${detail ?? ''}`);
  }

  async unacknowledgedReversals(): Promise<string[]> {
    const open = await this.parts.installation.sql<{ reference: string }>(
      'SELECT reference FROM acquirer_reversal WHERE acknowledged_at IS NULL',
    );
    return open.map(({ reference }) => `the reversal of ${reference}`);
  }

  /** STANs and retrieval references that were used twice, or that the two sides know differently. */
  async wrongNumbers(): Promise<string[]> {
    const sent = await SentNumbers.read(this.parts.installation);
    const references = retrievalReferencesIn(this.parts.host.entries());
    return [...sent.usedTwice(), ...sent.differentReferences(references)];
  }

  /** What the host has of payments that the gateway has stored with another link. */
  async strangers(): Promise<string[]> {
    const sent = await SentNumbers.read(this.parts.installation);
    const stored = await this.parts.installation.sql<{ audit: number; acquirer: string }>(
      'SELECT audit, acquirer FROM transaction WHERE acquirer <> $1',
      [this.name],
    );
    const elsewhere = new Map(stored.map(({ audit, acquirer }) => [audit, acquirer]));
    return this.parts.host.entries().flatMap((entry) => {
      const audit = entry.kind === 'decided' ? sent.auditOf(entry.key) : undefined;
      const acquirer = audit && elsewhere.get(audit);
      return acquirer === undefined ? [] : [`audit ${audit} is at ${this.name}, and stored with ${acquirer}`];
    });
  }

  async close(): Promise<void> {
    await this.parts.relay.stopListening();
    await this.parts.host.stop();
  }
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
