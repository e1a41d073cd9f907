// An organisation moves to another cell. Each step is a durable commit that can be run again: a command that was killed goes on where it
// stopped. One row decides which cell pays: the move at the destination is opened, or taken back, and never both.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { MOST_DAYS_KEPT } from '../../events/feed.js';
import { DayFigures } from '../../figures/day-figures.js';
import type { EntrySigner } from '../../journal/entry-signer.js';
import type { JournalAction } from '../../journal/journal.js';
import { journalMerchant } from '../../organisations/sealed-merchant.js';
import { journalOrganisation, lockOrganisation } from '../../organisations/sealed-organisation.js';
import { Database, type Queryable } from '../../postgres/database.js';
import type { Progress } from '../../tasks/task.js';
import type { OrganisationId } from '../../values/ids.js';
import { refuse } from '../../values/refusal.js';
import type { DataKeys } from '../../vault/keys/keys.js';
import { type Copied, Copying, passingFence } from './copying.js';
import {
  brokenAtSource,
  copyDataKeys,
  movedUsers,
  removeDestroyedKeys,
  type SealingCell,
  sealWhatCame,
  subjectsHere,
} from './directions.js';
import { dropIdleFence, fencing, UnderWay } from './fence.js';
import { copyHistory } from './history.js';
import { digestOf, type Foreseen, inWords, type Moved, type Sums } from './moved.js';
import {
  ARRIVE,
  BEGIN_MOVE,
  FORMER_INSTALLATIONS,
  LOCK_MOVE,
  LONGEST_DEADLINE,
  MERCHANTS,
  MOVE_BY_ID,
  MOVE_OF,
  OPEN_REQUESTS,
  PASS_OVER_RECEIVED,
  PUT_FORMER_INSTALLATION,
  PUT_MERCHANTS,
  RAISE_STANS,
  REMEMBER_COPIED,
  REMOVE_FORMER_INSTALLATIONS,
  SET_COUNTERS,
  SET_MOVE_STATE,
  SET_RESIDENCE,
  STANS,
  SUMS,
  SWEEP_ALL,
  UNDER_WAY,
  WIPE_DATA_KEYS,
} from './moves.sql.js';
import { findObstacles, type OrganisationRow, operatorsOf, organisationRow, sizeOf } from './obstacles.js';
import { raisePositions, sequenceAll } from './positions.js';
import { FIGURE_KEYS, figuresOf, putFigures } from './table-statements.js';

/** A cell as a move reaches it: with the login that owns its tables, and its keys. */
export interface MovingCell extends SealingCell {
  readonly name: string;
  /** Where its clients call. */
  readonly address: string;
  readonly database: Database;
  readonly keys: DataKeys;
  readonly signer: EntrySigner;
  readonly cursorKey: string;
}

export interface MoveParts {
  readonly organisation: OrganisationId;
  readonly source: MovingCell;
  readonly destination: MovingCell;
  readonly actor: string;
  /** How long an acquirer may take, as far as the settings say. */
  readonly deadlineMs: number;
  /** What an operator has looked at: it goes along although it is broken, and stays broken. */
  readonly evenBroken: readonly string[];
  readonly progress: (what: string, unit?: string) => Progress;
}

interface MoveRow {
  readonly id: string;
  readonly cell: string;
  readonly arrives: boolean;
  readonly state: 'copying' | 'closed' | 'open' | 'taken back' | 'finished';
  readonly copied: Copied;
  readonly begunBy: string;
  readonly ended: boolean;
}

/** A pass is small enough when what it would take once the organisation is closed is a moment. */
const SMALL_PASS = 500;
const MOST_PASSES = 12;
/** For two seconds gateways of the source go by what they knew: they would say that what is paid at the destination is not there. */
const SOURCE_KNOWS_MS = 2_500;
const FURTHER_MS = 5_000;
const POLL_MS = 100;

export class Moving {
  readonly #broken = new Set<string>();
  #closedAtMs: number | undefined;
  #closedMs: number | null = null;
  #rows = 0;

  constructor(private readonly parts: MoveParts) {}

  async foresee(): Promise<Foreseen> {
    const { source, destination } = this.parts;
    const organisation = await this.#organisation();
    return {
      organisation: organisation.id,
      from: source.name,
      to: destination.name,
      obstacles: [
        ...(organisation.residence === 'here'
          ? []
          : [`organisation ${organisation.id} is ${organisation.residence} in cell ${source.name}`]),
        ...(await findObstacles(source.database, destination.database, organisation)),
      ],
      operatorsLeft: await operatorsOf(source.database, organisation.id),
      size: await sizeOf(source.database, organisation.id),
    };
  }

  /** Begins, or goes on. On a session of its own that one command at a time has. */
  async move(): Promise<Moved> {
    const { organisation, source } = this.parts;
    const lock = new Database(source.database.url, { maxConnections: 1, patient: true });
    try {
      return await lock.transaction(async (connection) => {
        const { rows } = await connection.query<{ locked: boolean }>(LOCK_MOVE, [organisation]);
        if (!rows[0]?.locked) refuse('organisation_is_being_moved', { organisation });
        return this.#move();
      });
    } finally {
      await lock.close();
    }
  }

  async #move(): Promise<Moved> {
    const { destination } = this.parts;
    const move = await this.#begun();
    if (move.cell !== destination.name) refuse('organisation_moves_elsewhere', { cell: move.cell });
    await this.#arrive(move);
    const there = await this.#stateThere(move);
    if (there.state === 'taken back') {
      await this.#reopen(move);
      return this.#result(move, 'taken back', null);
    }
    if (there.state === 'open') return this.#leave(move);
    const copying = this.#copying(move, there.copied);
    const { residence } = await this.#organisation();
    if (residence !== 'closed') {
      await this.#copyWhileTrading(copying);
      await this.#checkDirections();
      await copying.compareAhead();
      await this.#copyWhileTrading(copying);
      await this.#close(move, copying);
    }
    const fencedAtMs = performance.now();
    this.#closedAtMs ??= fencedAtMs;
    // guard(moving: the destination claims nothing that it received before the source was closed): await destination.database.query( ⇒ void (
    await destination.database.query(PASS_OVER_RECEIVED, [this.parts.organisation]);
    const digest = await this.#bringTheRest(copying);
    // What is looked for by audit or correlation ID the database itself denies no more. Customers, tokens and events are no promises.
    // guard(moving: nobody asks the source any more when the destination opens): await sleep( ⇒ void (
    await sleep(Math.max(0, fencedAtMs + SOURCE_KNOWS_MS - performance.now()));
    await this.#open(move, digest);
    if (this.#closedAtMs !== undefined) this.#closedMs = Math.round(performance.now() - this.#closedAtMs);
    return this.#leave(move, digest);
  }

  /** As long as the destination has not opened. */
  async takeBack(): Promise<Moved> {
    const { source, destination, organisation, actor } = this.parts;
    const move = await this.#moveHere(source.database);
    if (move === undefined || move.ended || move.arrives)
      refuse('organisation_does_not_move', { organisation });
    await passingFence(destination.database, organisation, async (connection) => {
      // Where it has not begun, a command that hangs behind must not begin it.
      await connection.query(BEGIN_MOVE, [move.id, organisation, source.name, true, actor]);
      const there = await this.#locked(connection, move.id);
      // guard(moving: what was opened is not taken back): if (there.state === 'open' || there.state === 'finished') ⇒ if (there.state === 'finished')
      if (there.state === 'open' || there.state === 'finished')
        refuse('organisation_has_moved', { organisation, cell: destination.name });
      if (there.state === 'taken back') return;
      await connection.query(SET_MOVE_STATE, [move.id, 'taken back', true]);
      // guard(moving: the copy of a move that was taken back cannot be opened): await connection.query(WIPE_DATA_KEYS, [organisation]); ⇒
      await connection.query(WIPE_DATA_KEYS, [organisation]);
      if ((await organisationRow(connection, organisation)) !== undefined)
        await this.#journal(connection, 'organisation.move_taken_back', `to ${source.name}, ${move.id}`);
    });
    await this.#reopen(move);
    return this.#result(move, 'taken back', null);
  }

  /** Its cards cannot be opened in the source any more. */
  async finish(): Promise<Moved> {
    const { source, destination, organisation } = this.parts;
    const move = await this.#moveHere(source.database);
    const { residence } = await this.#organisation();
    if (move === undefined || residence !== 'moved') refuse('organisation_does_not_move', { organisation });
    if (move.cell !== destination.name) refuse('organisation_moves_elsewhere', { cell: move.cell });
    const there = await organisationRow(destination.database, organisation);
    if (there === undefined || there.residence === 'arriving')
      refuse('organisation_does_not_move', { organisation });
    const detail = `${source.name} to ${destination.name}, ${move.id}: the keys of ${source.name} are wiped`;
    await passingFence(source.database, organisation, async (connection) => {
      await connection.query(WIPE_DATA_KEYS, [organisation]);
      await connection.query(SET_MOVE_STATE, [move.id, 'finished', true]);
      await this.#journal(connection, 'organisation.move_finished', detail);
    });
    await destination.database.transaction((connection) =>
      this.#journal(connection, 'organisation.move_finished', detail),
    );
    return this.#result(move, 'finished', null);
  }

  /** The move that is under way, or a new one if nothing stands in its way. */
  async #begun(): Promise<MoveRow> {
    const { source, destination, organisation, actor } = this.parts;
    const known = await this.#moveHere(source.database);
    if (known !== undefined && !known.ended && !known.arrives) return known;
    const row = await this.#organisation();
    if (row.residence !== 'here') refuse('organisation_not_here', { organisation, residence: row.residence });
    const obstacles = await findObstacles(source.database, destination.database, row);
    if (obstacles.length > 0) refuse('organisation_cannot_move', { organisation, obstacles });
    const id = randomUUID();
    await source.database.transaction(async (connection) => {
      await lockOrganisation(connection, organisation);
      await connection.query(BEGIN_MOVE, [id, organisation, destination.name, false, actor]);
      await this.#journal(connection, 'organisation.move_begun', `to ${destination.name}, ${id}`);
    });
    return (await this.#moveHere(source.database)) as MoveRow;
  }

  /** The organisation and its merchants, sealed, with their data keys: nothing is done for it there yet. */
  async #arrive({ id, begunBy }: MoveRow): Promise<void> {
    const { source, destination, organisation, actor } = this.parts;
    const known = await this.#moveById(destination.database, id);
    if (known !== undefined) return;
    const row = await this.#organisation();
    const { rows: merchants } = await source.database.query<{ id: number; row: string }>(MERCHANTS, [
      organisation,
    ]);
    await fencing(destination.database, organisation, async (connection) => {
      if ((await organisationRow(connection, organisation)) !== undefined)
        await lockOrganisation(connection, organisation);
      await connection.query(BEGIN_MOVE, [id, organisation, source.name, true, begunBy]);
      await connection.query(ARRIVE, [organisation, row.name, row.createdAt, row.hostName]);
      await connection.query(PUT_MERCHANTS, [`[${merchants.map((merchant) => merchant.row).join(',')}]`]);
      const entry = { actor, action: 'organisation.arriving' } as const;
      for (const merchant of merchants)
        await journalMerchant(connection, { ...entry, detail: `merchant/${merchant.id}` }, merchant.id);
      await journalOrganisation(connection, { ...entry, detail: `from ${source.name}, ${id}` }, organisation);
      await copyDataKeys(organisation, source, destination, connection);
    });
  }

  #copying({ id }: MoveRow, copied: Copied): Copying {
    const { organisation, source, destination, progress } = this.parts;
    const shown = progress(`Copying organisation ${organisation}`, 'rows');
    return new Copying(
      {
        organisation,
        source,
        destination,
        remember: async (now) => {
          await destination.database.query(REMEMBER_COPIED, [id, JSON.stringify(now)]);
        },
        copyKeys: () => this.#copyKeys(),
        onBroken: (what) => this.#onBroken(what),
        raisePositions: () => raisePositions(source.database, destination.database, organisation),
        tell: (rows) => shown(rows),
      },
      copied,
    );
  }

  async #copyWhileTrading(copying: Copying): Promise<void> {
    for (let pass = 1; pass <= MOST_PASSES; pass += 1) {
      const rows = (await copying.pass(true)) + (await this.#history(copying, false));
      if (pass > 1 && rows <= SMALL_PASS) return;
    }
  }

  /** What is broken is found before anybody is refused. */
  async #checkDirections(): Promise<void> {
    const { source, destination, organisation } = this.parts;
    const { rows } = await source.database.query<{ id: number }>(MERCHANTS, [organisation]);
    const onBroken = (what: string) => this.#onBroken(what);
    await brokenAtSource(
      source.database,
      rows.map(({ id }) => id),
      onBroken,
    );
    await movedUsers(organisation, source, destination, onBroken);
  }

  /** From here on the source refuses. What is under way is waited for: then nothing of the organisation can be committed any more. */
  async #close({ id }: MoveRow, copying: Copying): Promise<void> {
    const { source, destination, organisation, actor } = this.parts;
    await fencing(
      source.database,
      organisation,
      async (connection) => {
        await this.#needMove(connection, id);
        const { residence } = await lockOrganisation(connection, organisation);
        if (residence === 'closing') return;
        await connection.query(SET_RESIDENCE, [organisation, 'closing', null, null]);
        const detail = `to ${destination.name}, ${id}`;
        await journalOrganisation(
          connection,
          { actor, action: 'organisation.closing', detail },
          organisation,
        );
      },
      ['transaction'],
    );
    this.#closedAtMs = performance.now();
    await copying.pass(false);
    await this.#waitUntilDecided();
    await fencing(source.database, organisation, async (connection) => {
      await this.#needMove(connection, id);
      await connection.query(SET_RESIDENCE, [organisation, 'closed', destination.name, destination.address]);
      const detail = `to ${destination.name}, ${id}`;
      await journalOrganisation(connection, { actor, action: 'organisation.closed', detail }, organisation);
      await connection.query(SET_MOVE_STATE, [id, 'closed', false]);
      return async () => {
        if ((await this.#underWay(connection)) > 0) throw new UnderWay();
        const { rows } = await connection.query<{ id: number }>(OPEN_REQUESTS, [organisation]);
        if (rows.length > 0) throw new UnderWay();
      };
    });
  }

  /** Another command may have taken the move back meanwhile. */
  async #needMove(connection: Queryable, id: string): Promise<void> {
    const move = await this.#moveById(connection, id);
    if (move?.ended !== false)
      refuse('organisation_does_not_move', { organisation: this.parts.organisation });
  }

  async #waitUntilDecided(): Promise<void> {
    const { source, organisation, deadlineMs } = this.parts;
    const { rows } = await source.database.query<{ deadlineMs: number }>(LONGEST_DEADLINE);
    const untilMs = performance.now() + Math.max(deadlineMs, rows[0]?.deadlineMs ?? 0) + FURTHER_MS;
    for (;;) {
      const underWay = await this.#underWay(source.database);
      if (underWay === 0) return;
      if (performance.now() > untilMs) {
        await this.#goOnTrading();
        refuse('organisation_still_pays', { organisation, underWay });
      }
      await sleep(POLL_MS);
    }
  }

  /** It could not be closed in time: better it pays on than that it waits. */
  async #goOnTrading(): Promise<void> {
    const { source, organisation, actor } = this.parts;
    await fencing(source.database, organisation, async (connection) => {
      await lockOrganisation(connection, organisation);
      await connection.query(SET_RESIDENCE, [organisation, 'here', null, null]);
      const entry = {
        actor,
        action: 'organisation.move_taken_back',
        detail: 'payments were still under way',
      } as const;
      await journalOrganisation(connection, entry, organisation);
    });
  }

  async #underWay(connection: Queryable): Promise<number> {
    const values = [this.parts.organisation];
    const { rows } = await connection.query<{ underWay: number }>(UNDER_WAY, values);
    return rows[0]?.underWay ?? 0;
  }

  /** Nothing changes at the source any more. Returns a digest of everything. */
  async #bringTheRest(copying: Copying): Promise<string> {
    const { source, organisation } = this.parts;
    await sequenceAll(source.database, organisation);
    await new DayFigures(source.database, MOST_DAYS_KEPT).run();
    await copying.pass(false);
    await this.#history(copying, true);
    await this.#bringDirections(copying);
    this.#rows = copying.rows;
    const { compared, differences } = await copying.compare();
    if (differences.length > 0) refuse('organisation_differs', { organisation, differences });
    return digestOf(compared);
  }

  /** Settings, users, endpoints, counters and figures, sealed, in one commit: what is there is never half of it. */
  async #bringDirections(copying: Copying): Promise<void> {
    const { source, destination, organisation, actor } = this.parts;
    const { rows: merchants } = await source.database.query<{ id: number; row: string }>(MERCHANTS, [
      organisation,
    ]);
    const ids = merchants.map(({ id }) => id);
    const onBroken = (what: string) => this.#onBroken(what);
    const broken = await brokenAtSource(source.database, ids, onBroken);
    const users = await movedUsers(organisation, source, destination, onBroken);
    const figures = await Promise.all(Object.keys(FIGURE_KEYS).map((table) => this.#figuresOf(table)));
    const row = await this.#organisation();
    type Former = { readonly lastAudit: number; readonly installation: string; readonly cursorKey: string };
    const { rows: former } = await source.database.query<Former>(FORMER_INSTALLATIONS, [organisation]);
    type Stan = { readonly terminal: string; readonly leased: number; readonly leases: unknown };
    const { rows: stans } = await source.database.query<Stan>(STANS, [organisation]);
    await passingFence(destination.database, organisation, async (connection) => {
      const before = await subjectsHere(connection, organisation);
      await connection.query(PUT_MERCHANTS, [`[${merchants.map((merchant) => merchant.row).join(',')}]`]);
      const keys = await copyDataKeys(organisation, source, destination, connection);
      await copying.replaceWhole(connection, new Map([['gateway_user', users]]));
      await copying.removeGone(connection);
      await removeDestroyedKeys(organisation, keys, connection);
      await sealWhatCame(connection, { organisation, merchants: ids, actor, broken, before });
      for (const [index, [table, key]] of Object.entries(FIGURE_KEYS).entries())
        await connection.query(putFigures(table, key), [organisation, figures[index]]);
      for (const { terminal, leased, leases } of stans)
        await connection.query(RAISE_STANS, [terminal, leased, JSON.stringify(leases)]);
      await connection.query(REMOVE_FORMER_INSTALLATIONS, [organisation]);
      const own = {
        lastAudit: row.nextAudit - 1,
        installation: source.installation,
        cursorKey: source.cursorKey,
      };
      for (const { lastAudit, installation, cursorKey } of [...former, own])
        await connection.query(PUT_FORMER_INSTALLATION, [organisation, lastAudit, installation, cursorKey]);
      await connection.query(SET_COUNTERS, [
        organisation,
        row.nextAudit,
        row.nextCustomerId,
        row.nextTokenId,
        row.nextCheckout,
      ]);
    });
  }

  /** The commit from which on the destination pays. */
  async #open(move: MoveRow, digest: string): Promise<void> {
    const { source, destination, organisation, actor } = this.parts;
    const sums = await this.#sums(destination.database);
    await raisePositions(source.database, destination.database, organisation);
    await fencing(destination.database, organisation, async (connection) => {
      const there = await this.#locked(connection, move.id);
      if (there.state !== 'copying') refuse('organisation_does_not_move', { organisation });
      await lockOrganisation(connection, organisation);
      await connection.query(SET_RESIDENCE, [organisation, 'here', null, null]);
      await connection.query(SWEEP_ALL, [organisation]);
      await connection.query(SET_MOVE_STATE, [move.id, 'open', true]);
      const detail = `from ${source.name}, ${move.id}: ${inWords(sums)}; sha256 ${digest}`;
      await journalOrganisation(connection, { actor, action: 'organisation.arrived', detail }, organisation);
    });
  }

  /** The destination pays: from now on the source says where. */
  async #leave(move: MoveRow, digest: string | null = null): Promise<Moved> {
    const { source, destination, organisation, actor } = this.parts;
    const sums = await this.#sums(source.database);
    await passingFence(source.database, organisation, async (connection) => {
      const { residence } = await lockOrganisation(connection, organisation);
      if (residence === 'moved') return;
      await connection.query(SET_RESIDENCE, [organisation, 'moved', destination.name, destination.address]);
      await connection.query(SET_MOVE_STATE, [move.id, 'open', true]);
      const of = digest === null ? '' : `; sha256 ${digest}`;
      const detail = `to ${destination.name}, ${move.id}: ${inWords(sums)}${of}`;
      await journalOrganisation(connection, { actor, action: 'organisation.moved', detail }, organisation);
    });
    await dropIdleFence(destination.database);
    return this.#result(move, 'moved', digest);
  }

  /** The source pays again. */
  async #reopen(move: MoveRow): Promise<void> {
    const { source, organisation, actor } = this.parts;
    const row = await this.#organisation();
    if (row.residence === 'moved') refuse('organisation_does_not_move', { organisation });
    await fencing(source.database, organisation, async (connection) => {
      const { residence } = await lockOrganisation(connection, organisation);
      await connection.query(SET_MOVE_STATE, [move.id, 'taken back', true]);
      if (residence === 'here') return;
      await connection.query(SET_RESIDENCE, [organisation, 'here', null, null]);
      const entry = { actor, action: 'organisation.move_taken_back', detail: move.id } as const;
      await journalOrganisation(connection, entry, organisation);
    });
    await dropIdleFence(source.database);
  }

  async #history(copying: Copying, whole: boolean): Promise<number> {
    const { organisation, source, destination, progress } = this.parts;
    const shown = whole ? () => {} : progress('Copying the journal', 'entries');
    const parts = {
      organisation,
      source,
      destination,
      onBroken: (what: string) => this.#onBroken(what),
      tell: (entries: number) => shown(entries),
    };
    const { upTo, entries } = await copyHistory(parts, copying.copied.journal ?? 0, whole);
    await copying.journalCopied(upTo);
    return entries;
  }

  #copyKeys(): Promise<void> {
    const { organisation, source, destination } = this.parts;
    return passingFence(destination.database, organisation, async (connection) => {
      await copyDataKeys(organisation, source, destination, connection);
    });
  }

  #onBroken(what: string): void {
    const { organisation, evenBroken } = this.parts;
    this.#broken.add(what);
    // guard(moving: what is broken stops the move): if (!evenBroken.includes(what)) ⇒ if (evenBroken.includes(what))
    if (!evenBroken.includes(what)) refuse('organisation_row_broken', { organisation, what });
  }

  async #figuresOf(table: string): Promise<string> {
    const { source, organisation } = this.parts;
    const { rows } = await source.database.query<{ rows: string }>(figuresOf(table), [organisation]);
    return rows[0]?.rows ?? '[]';
  }

  async #sums(database: Queryable): Promise<Sums> {
    return (await database.query<Sums>(SUMS, [this.parts.organisation])).rows[0] as Sums;
  }

  async #organisation(): Promise<OrganisationRow> {
    const { source, organisation } = this.parts;
    return (
      (await organisationRow(source.database, organisation)) ??
      refuse('organisation_not_found', { organisation })
    );
  }

  async #moveHere(database: Queryable): Promise<MoveRow | undefined> {
    return (await database.query<MoveRow>(MOVE_OF, [this.parts.organisation])).rows[0];
  }

  async #moveById(database: Queryable, id: string): Promise<MoveRow | undefined> {
    return (await database.query<MoveRow>(MOVE_BY_ID, [id])).rows[0];
  }

  async #stateThere({ id }: MoveRow): Promise<MoveRow> {
    return (await this.#moveById(this.parts.destination.database, id)) as MoveRow;
  }

  async #locked(connection: Queryable, id: string): Promise<MoveRow> {
    return (await this.#moveById(connection, id)) as MoveRow;
  }

  async #journal(connection: Queryable, action: JournalAction, detail: string): Promise<void> {
    const { organisation, actor } = this.parts;
    await journalOrganisation(connection, { actor, action, detail }, organisation);
  }

  async #result(move: MoveRow, outcome: Moved['outcome'], sha256: string | null): Promise<Moved> {
    const { source, destination, organisation } = this.parts;
    return {
      move: move.id,
      organisation,
      from: source.name,
      to: destination.name,
      outcome,
      rowsCopied: this.#rows,
      closedMs: this.#closedMs,
      ...(await this.#sums(source.database)),
      operatorsLeft: await operatorsOf(source.database, organisation),
      broken: [...this.#broken],
      sha256,
    };
  }
}
