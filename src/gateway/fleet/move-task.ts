// `organisation move`: from the cell whose settings the command has, to another cell of the fleet.
import { hostname } from 'node:os';
import { showCell } from '../../installation/fleet/cells.js';
import { type Cell, cellCalled } from '../../installation/fleet/fleet-file.js';
import type { Foreseen, Moved } from '../../installation/moving/moved.js';
import { Moving, type MovingCell } from '../../installation/moving/moving.js';
import { cellRow } from '../../installation/moving/obstacles.js';
import { EntrySigner, setSigner } from '../../journal/entry-signer.js';
import type { CredentialKey } from '../../organisations/users/credentials.js';
import type { Database } from '../../postgres/database.js';
import { FLAG, ID, several, TEXT } from '../../tasks/kinds.js';
import { type Doing, needed, optional, task } from '../../tasks/task.js';
import type { OrganisationId } from '../../values/ids.js';
import { refuse } from '../../values/refusal.js';
import type { KeyProvider } from '../../vault/keys/key-provider.js';
import { DataKeys } from '../../vault/keys/keys.js';
import { credentialKey, journalKey } from '../callers.js';
import { withDatabase } from '../database/connection.js';
import { openKeyProvider } from '../settings/key-encryption.js';
import { readSettings } from '../settings/settings.js';
import { fleetOfSettings } from './fleet-tasks.js';
import { settingsOfCell } from './reached-cell.js';

interface MoveMeans {
  provider(): Promise<KeyProvider>;
  key(): Promise<CredentialKey>;
  journalKey(): Promise<Buffer>;
}

interface Opened {
  readonly database: Database;
  readonly provider: KeyProvider;
  readonly key: CredentialKey;
  readonly journalKey: Buffer;
}

async function movingCell(
  { name, address }: Pick<Cell, 'name' | 'address'>,
  { database, provider, key, journalKey: signing }: Opened,
): Promise<MovingCell> {
  const { installation, cell, cursorKey } = await cellRow(database);
  // guard(moving: the settings of a cell lead to that cell): if (cell !== name) ⇒ if (cell === '')
  if (cell !== name) refuse('cell_is_another', { cell: name, found: cell });
  const signer = new EntrySigner(signing, hostname());
  setSigner(database, signer);
  const keys = new DataKeys(database, provider);
  return { name, address, database, provider, key, keys, signer, installation, cursorKey };
}

interface MoveWish {
  readonly organisation: number;
  readonly to: string;
  readonly evenBroken?: readonly string[] | undefined;
}

async function withMove<Result>(
  doing: Doing<MoveMeans>,
  { organisation, to, evenBroken = [] }: MoveWish,
  work: (moving: Moving) => Promise<Result>,
): Promise<Result> {
  const { database, actor, progress, means } = doing;
  const { acquirerDeadlineMs } = readSettings();
  const fleet = await fleetOfSettings();
  const { name } = await showCell(database);
  const here =
    fleet.cells.find((cell) => cell.name === name) ?? refuse('cell_is_not_this_one', { cell: name });
  if (to === name) refuse('organisation_is_there', { organisation, cell: to });
  const there = cellCalled(fleet, to);
  const [provider, key, signing] = [await means.provider(), await means.key(), await means.journalKey()];
  const source = await movingCell(here, { database, provider, key, journalKey: signing });
  const settings = await settingsOfCell(there);
  return withDatabase(
    settings,
    async (other) => {
      const opened = await openKeyProvider(settings, other);
      const destination = await movingCell(there, {
        database: other,
        provider: opened,
        key: await credentialKey(other, opened),
        journalKey: await journalKey(other, opened),
      });
      const deadlineMs = Math.max(acquirerDeadlineMs, settings.acquirerDeadlineMs);
      const id = organisation as OrganisationId;
      return work(
        new Moving({ organisation: id, source, destination, actor, deadlineMs, evenBroken, progress }),
      );
    },
    { as: 'migrating' },
  );
}

export const MOVE = task({
  name: 'organisation move',
  help: 'move an organisation to another cell of the fleet while it trades; run again, it goes on where it stopped',
  role: 'administrator',
  scope: 'installation',
  on: 'as owner',
  fresh: true,
  secondPerson: { for: 'keys' },
  input: {
    organisation: needed(ID, '<id>', 'the ID of the organisation', { names: 'organisations' }),
    to: needed(TEXT, '--to <cell>', 'the name of the other cell'),
    dryRun: optional(
      FLAG,
      '--dry-run',
      'only say what stands in its way, how large it is and how long it may take',
    ),
    takeBack: optional(FLAG, '--take-back', 'end the move, as long as the other cell has not opened'),
    finish: optional(
      FLAG,
      '--finish',
      'after the move: wipe the keys of its cards and webhooks here, so that only the other cell can open them',
    ),
    evenBroken: optional(
      several(TEXT),
      '--even-broken <row>',
      'a row that somebody has changed, such as transaction/17: it goes along, and stays broken; repeat for each',
    ),
  },
  misfit: ({ dryRun, takeBack, finish }) =>
    [dryRun, takeBack, finish].filter((each) => each === true).length > 1
      ? 'give one of --dry-run, --take-back and --finish'
      : undefined,
  run: (doing: Doing<MoveMeans>, { dryRun, takeBack, finish, ...wish }) =>
    withMove<Foreseen | Moved>(doing, wish, (moving) => {
      if (dryRun) return moving.foresee();
      if (takeBack) return moving.takeBack();
      return finish ? moving.finish() : moving.move();
    }),
  says: (result) => ('outcome' in result ? saysMoved(result) : saysForeseen(result)),
  fails: (result) => 'obstacles' in result && result.obstacles.length > 0,
});

function saysForeseen({ organisation, from, to, obstacles, operatorsLeft, size }: Foreseen): string {
  const { merchants, users, customers, tokens, transactions, events, journalEntries, estimatedSeconds } =
    size;
  return [
    `Organisation ${organisation}, from ${from} to ${to}: ${merchants} merchants, ${users} users, ${customers} customers, ${tokens} tokens, ${transactions} transactions, ${events} events, ${journalEntries} journal entries. Copying takes about ${estimatedSeconds} seconds.`,
    ...obstacles.map((obstacle) => `In the way: ${obstacle}.`),
    ...operatorsLeftBehind(operatorsLeft),
    ...(obstacles.length === 0 ? ['Nothing stands in its way.'] : []),
  ].join('\n');
}

function saysMoved({
  organisation,
  from,
  to,
  outcome,
  transactions,
  rowsCopied,
  closedMs,
  operatorsLeft,
  broken,
  inDoubt,
}: Moved): string {
  switch (outcome) {
    case 'taken back':
      return `Organisation ${organisation} stays in ${from}. The copy in ${to} cannot be opened.`;
    case 'finished':
      return `Its cards and webhook secrets can be opened in ${to} only.`;
    case 'moved':
      return [
        `Organisation ${organisation} has moved from ${from} to ${to}: ${transactions} transactions, ${inDoubt} of them in doubt; ${rowsCopied} rows were copied${closedMs === null ? '' : `, and it was closed for ${(closedMs / 1000).toFixed(1)} seconds`}.`,
        ...(broken.length === 0 ? [] : [`Broken before, and still: ${broken.join(', ')}.`]),
        ...operatorsLeftBehind(operatorsLeft),
        'Update the map of the proxy (`tollgate fleet map`). When all is well, run it with --finish.',
      ].join('\n');
  }
}

function operatorsLeftBehind(names: readonly string[]): string[] {
  return names.length === 0 ? [] : [`Operators who are limited to it do not go along: ${names.join(', ')}.`];
}
