// Rounds of changes while the gateways trade: about ten are made, left for some seconds, looked for in all reports, and put back.
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { paymentBody, targetedBody } from '../../testkit/bodies.js';
import { call } from '../../testkit/caller.js';
import type { Chance } from '../../testkit/chance.js';
import { say } from '../../testkit/report.js';
import { ATTACKS, type Knowledge } from './attacks.js';
import { type Change, Changes } from './changes.js';
import { authorizationOf, type Installed } from './installed.js';
import { Reporting } from './reports.js';
import {
  type Difference,
  differencesOf,
  type Image,
  imagesOf,
  putBack,
  type Row,
  type Rows,
  type Table,
} from './rows.js';
import type { Thief } from './thief.js';
import { isReported, namesToReport } from './what-matters.js';

const PER_ROUND = 10;
const ATTACK_PERCENT = 35;
/** Changes of these can make verification fail as a whole, and so hide others. */
const ALONE = new Set([
  'installation_key',
  'gateway',
  'schema_migration',
  'data_key',
  'journal_chain',
  'journal_block',
]);
const REFUSED_BY_SERVER = /^(42501|23|22|42|P0001|0A|428C9|55000)/;
/** A changed lineage looks like a failover: the gateways note lost time, which only an operator's command clears. */
const NOTHING_LOST = `
  UPDATE gateway SET lost_from = NULL, lost_until = NULL, lost_noted_by = NULL;
  UPDATE organisation SET lost_first_audit = NULL, lost_last_audit = NULL`;

export interface RoundsParts {
  readonly installed: Installed;
  readonly tables: ReadonlyMap<string, Table>;
  readonly thief: Thief;
  readonly chance: Chance;
  readonly holdMs: number;
  /** Random changes to this table alone, or this attack alone. */
  readonly only: string | undefined;
  /** The intruder's logins, by name. */
  readonly logins: Readonly<Record<string, string>>;
  /** The first statement of each session. */
  readonly begin: string;
}

interface Made {
  readonly change: Change;
  readonly login: string;
  readonly differences: readonly Difference[];
}

/** What was neither prevented nor noticed. */
export class Findings {
  readonly unreported: string[] = [];
  readonly unalarmed: string[] = [];
  readonly gained: string[] = [];
}

export class Rounds {
  readonly findings = new Findings();
  readonly counts = { made: 0, refused: 0, effectless: 0, mattering: 0, rounds: 0 };
  readonly #changes: Changes;
  readonly #knowledge: Knowledge;
  readonly #reporting: Reporting;
  readonly #sessions = new Map<string, pg.Client>();
  readonly #attacks: { readonly name: string; readonly login: string }[];
  readonly #tables: Table[];
  readonly #loginsOfTables: string[];
  #turn = 0;
  /** To be made in a round of its own. */
  #waiting: [Change, string] | undefined;

  constructor(private readonly parts: RoundsParts) {
    const { installed, tables, chance, thief, logins, only } = parts;
    const { superuser, earlier } = installed;
    this.#changes = new Changes({ superuser, tables, earlier, chance: chance.fork(), thief });
    this.#knowledge = this.#whatIsKnown();
    this.#reporting = new Reporting(installed.installation, () => installed.gateways);
    const names = Object.keys(logins);
    const isWanted = (name: string) => only === undefined || name === only;
    this.#loginsOfTables = names;
    this.#attacks = chance.shuffled(
      Object.keys(ATTACKS)
        .filter(isWanted)
        .flatMap((name) => names.map((login) => ({ name, login }))),
    );
    this.#tables = chance.shuffled([...tables.values()].filter(({ name }) => isWanted(name)));
    if (this.#tables.length + this.#attacks.length === 0)
      throw new Error(`there is no table or attack ${only}`);
  }

  async run(changes: number): Promise<void> {
    for (const [name, connectionString] of Object.entries(this.parts.logins)) {
      const session = new pg.Client({ connectionString, application_name: 'writer' });
      session.on('error', () => {});
      await session.connect();
      await session.query(`SET statement_timeout = '5s'; SET lock_timeout = '2s'; ${this.parts.begin}`);
      this.#sessions.set(name, session);
    }
    let tried = 0;
    while (tried < changes) tried += await this.#round(changes - tried);
    for (const session of this.#sessions.values()) await session.end();
  }

  async #round(most: number): Promise<number> {
    const sinceMs = Date.now();
    const made: Made[] = [];
    let tried = 0;
    for (let turn = 0; turn < 2 * PER_ROUND && tried < Math.min(PER_ROUND, most); turn += 1) {
      const [change, login] = await this.#next();
      if (change === undefined || this.#isTaken(change, made)) continue;
      const isAlone = change.rows.some(({ table }) => ALONE.has(table));
      if (isAlone && tried > 0) {
        this.#waiting = [change, login];
        break;
      }
      tried += 1;
      const differences = await this.#make(change, login);
      if (differences.length > 0) made.push({ change, login, differences });
      if (isAlone && differences.length > 0) break;
    }
    if (made.length > 0) await this.#judge(made, sinceMs);
    await this.#putBack(made);
    this.counts.rounds += 1;
    return Math.max(tried, 1);
  }

  async #next(): Promise<[Change | undefined, string]> {
    const { chance } = this.parts;
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting !== undefined) return waiting;
    const repeated = this.#tables.length === 0 ? chance.pick(this.#attacks) : undefined;
    const attack = repeated ?? (chance.percent(ATTACK_PERCENT) ? this.#attacks.pop() : undefined);
    if (attack !== undefined) {
      const making = await ATTACKS[attack.name]?.(this.#knowledge);
      if (making === undefined) return [undefined, attack.login];
      const { rows, statements, exploit } = making;
      const apply = async (session: pg.Client) => {
        for (const statement of statements) await session.query(statement);
      };
      return [{ what: attack.name, rows, apply, exploit }, attack.login];
    }
    // Every table with every login, in turn.
    const turn = this.#turn++;
    const place = turn % this.#tables.length;
    const table = this.#tables[place] as Table;
    const round = Math.floor(turn / this.#tables.length);
    const login = this.#loginsOfTables[(place + round) % this.#loginsOfTables.length] as string;
    return [await this.#changes.toTable(table), login];
  }

  /** Whether another change of this round is about one of the same tables: one could undo what the other has done. */
  #isTaken({ rows }: Change, made: readonly Made[]): boolean {
    const taken = new Set(made.flatMap(({ change }) => change.rows.map(({ table }) => table)));
    return rows.some(({ table }) => taken.has(table));
  }

  async #make(change: Change, login: string): Promise<Difference[]> {
    const before = await this.#images(change.rows);
    const session = this.#sessions.get(login) as pg.Client;
    try {
      await session.query('BEGIN');
      await change.apply(session);
      await session.query('COMMIT');
    } catch (error) {
      await session.query('ROLLBACK');
      const { code = '', message } = error as { code?: string; message: string };
      if (!REFUSED_BY_SERVER.test(code)) say(`… ${login}: ${change.what}: ${code} ${message}`);
      this.counts.refused += 1;
      return [];
    }
    const after = await this.#images(change.rows);
    const differences = change.rows.flatMap(({ table }, place) =>
      differencesOf(this.#table(table), before[place] ?? [], after[place] ?? []),
    );
    this.counts[differences.length > 0 ? 'made' : 'effectless'] += 1;
    // The trade is not the same with the same seed: this shows what was changed when.
    say(`… ${new Date().toISOString()} ${login}: ${change.what}`);
    return differences;
  }

  #table(name: string): Table {
    const table = this.parts.tables.get(name);
    if (table === undefined) throw new Error(`there is no table ${name}`);
    return table;
  }

  async #images(rows: readonly Rows[]): Promise<Image[][]> {
    const found: Image[][] = [];
    for (const each of rows) found.push(await imagesOf(this.parts.installed.superuser, each));
    return found;
  }

  async #judge(made: readonly Made[], sinceMs: number): Promise<void> {
    await sleep(this.parts.holdMs);
    const { people } = this.parts.installed;
    for (const { change, login } of made) {
      const gained = await change.exploit?.();
      if (gained !== undefined) this.findings.gained.push(`${login}: ${change.what}: ${gained}`);
    }
    const rights = [...(await people.gained()), ...(await this.#gainedByUsers())];
    const whats = made.map(({ change, login }) => `${login}: ${change.what}`).join('; ');
    for (const right of rights) this.findings.gained.push(`${right}, by one of: ${whats}`);
    const mattering = made.flatMap(({ change, login, differences }) =>
      differences.flatMap((difference) => {
        const names = namesToReport(difference);
        return names === undefined ? [] : [{ what: `${login}: ${change.what}`, names, difference }];
      }),
    );
    this.counts.mattering += mattering.length;
    if (mattering.length === 0) return;
    const { lines, failing } = await this.#reporting.since(sinceMs);
    for (const { what, names, difference } of mattering) {
      if (isReported(names, lines)) continue;
      const columns = difference.columns.slice(0, 6).join(', ');
      this.findings.unreported.push(`${what} (${names[0]}: ${columns})`);
    }
    if (!failing.includes('doctor')) this.findings.unalarmed.push(`doctor is content with: ${whats}`);
    if (!failing.includes('keys verify') && !failing.includes('journal verify'))
      this.findings.unalarmed.push(`both verifications are content with: ${whats}`);
  }

  async #putBack(made: readonly Made[]): Promise<void> {
    const { superuser } = this.parts.installed;
    for (const { differences } of made.toReversed()) {
      // A row without a primary key that was changed is another row now, and in the way of what it was.
      const additionsFirst = differences.toSorted(
        (one, other) => Number(!!one.before) - Number(!!other.before),
      );
      for (const difference of additionsFirst)
        await putBack(superuser, this.#table(difference.table), difference);
    }
    await superuser.query(NOTHING_LOST);
  }

  async #gainedByUsers(): Promise<string[]> {
    const { users, merchants } = this.parts.installed;
    const { reader, revoked } = users;
    const gained: string[] = [];
    const asked = await this.#asked(authorizationOf(revoked), 'GET', '/transactions/1');
    if (asked !== 401) gained.push(`a revoked user is answered ${asked}`);
    const madeUp = await this.#asked(
      authorizationOf({ ...reader, username: 'made-up' }),
      'GET',
      '/transactions/1',
    );
    if (madeUp !== 401) gained.push(`a made-up user is answered ${madeUp}`);
    const body = paymentBody({ merchant: merchants.simulator, reference: 'of-a-reader', amount: 1 });
    const paid = await this.#asked(authorizationOf(reader), 'POST', '/transactions/purchase', body);
    if (paid === 201) gained.push('a user who may only read has paid');
    return gained;
  }

  async #asked(authorization: string, method: string, path: string, body?: object): Promise<number> {
    const { baseUrl } = this.parts.chance.pick(this.parts.installed.gateways);
    try {
      return (await call({ baseUrl, authorization }, method, path, body === undefined ? {} : { body }))
        .status;
    } catch {
      // Without an answer nothing was gained.
      return 401;
    }
  }

  #whatIsKnown(): Knowledge {
    const { installed, thief, chance } = this.parts;
    const { installation, merchants, superuser, earlier, gateways } = installed;
    const ask = (path: string, body: object) => {
      const { baseUrl } = chance.pick(gateways);
      const caller = { baseUrl, authorization: installation.authorization };
      return call(caller, 'POST', `/transactions/${path}`, { body }).catch(() => undefined);
    };
    return {
      thief,
      chance: chance.fork(),
      merchants,
      ask: async (text, values) => (await superuser.query<Row>(text, values)).rows,
      earlier: (table, is) => earlier.get(table)?.find(({ row }) => is(row)),
      refunds: async ({ audit, merchant_id, amount_cents }) => {
        const body = targetedBody({
          merchant: Number(merchant_id),
          amount: String(amount_cents),
          reference: 'refund-of-a-thief',
        });
        return (await ask(`${audit}/refund`, body))?.body?.status?.transaction_status_code === 'approved';
      },
      pays: async (virtualPan) => {
        const body = paymentBody({
          merchant: merchants.host,
          pan: virtualPan,
          reference: 'by-token',
          amount: 100,
        });
        const answer = await ask('purchase', body);
        return answer?.code ?? String(answer?.body?.status?.transaction_status_code);
      },
    };
  }
}
