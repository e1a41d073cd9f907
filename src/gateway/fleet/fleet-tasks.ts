// What is done with a fleet from one machine: which name leads to which cell, the proxy's configuration, and how the cells are. These
// tasks need no database of their own, and change nothing.
import { hostname } from 'node:os';
import { haproxyConfiguration, USUAL_PLACES } from '../../http/haproxy.js';
import { NAMED_ORGANISATIONS } from '../../installation/fleet/cells.sql.js';
import { type Fleet, readFleet } from '../../installation/fleet/fleet-file.js';
import { haproxyMap, hostMap, type NamedOrganisation } from '../../installation/fleet/host-map.js';
import type { MoveUnderWay } from '../../installation/fleet/travellers.js';
import { EntrySigner, setSigner } from '../../journal/entry-signer.js';
import { fitOf } from '../../journal/seals.js';
import { rowOfOrganisation, type SealedOrganisation } from '../../organisations/sealed-organisation.js';
import type { Queryable } from '../../postgres/database.js';
import { choice, TEXT } from '../../tasks/kinds.js';
import { optional, task } from '../../tasks/task.js';
import type { FieldProblem } from '../../values/refusal.js';
import { refuse } from '../../values/refusal.js';
import { journalKey } from '../callers.js';
import { openKeyProvider } from '../settings/key-encryption.js';
import { readSettings, SettingsError } from '../settings/settings.js';
import { type CellStatus, fleetStatus, problemIn } from './fleet-status.js';
import { inCell } from './reached-cell.js';

const PAGE = 500;

export function fleetOfSettings(): Promise<Fleet> {
  const { fleet } = readSettings();
  if (fleet === undefined)
    throw new SettingsError('TOLLGATE_FLEET_FILE is needed: it names the file that lists the cells');
  return readFleet(fleet);
}

/** With nothing left out: a proxy that was given a part of the names would turn away the clients of the others. */
async function wholeMap(fleet: Fleet): Promise<{ readonly map: string; readonly hosts: number }> {
  const named = new Map<string, readonly NamedOrganisation[]>();
  const problems: FieldProblem[] = [];
  for (const cell of fleet.cells) {
    const found = await inCell(cell, async (database, settings) => {
      const key = await journalKey(database, await openKeyProvider(settings, database));
      setSigner(database, new EntrySigner(key, hostname()));
      return namedOrganisations(database);
    }).catch(problemIn);
    if (typeof found === 'string') problems.push({ field: `cell ${cell.name}:`, rule: found });
    else {
      named.set(cell.name, found.fitting);
      const rule = 'is not as it was sealed: somebody has written to the database';
      for (const id of found.altered) problems.push({ field: `organisation ${id} in ${cell.name}`, rule });
    }
  }
  const { entries, problems: ofNames } = hostMap(fleet, named);
  // guard(fleet: a map is made of sealed names alone): [...problems, ...ofNames] ⇒ ofNames
  const all = [...problems, ...ofNames];
  if (all.length > 0) refuse('fleet_map_unclear', { problems: all });
  return { map: haproxyMap(entries), hosts: entries.length };
}

async function namedOrganisations(database: Queryable) {
  const fitting: NamedOrganisation[] = [];
  const altered: number[] = [];
  for (let after = 0; ; ) {
    const { rows } = await database.query<SealedOrganisation>(NAMED_ORGANISATIONS, [after, PAGE]);
    const last = rows.at(-1);
    if (last === undefined) return { fitting, altered };
    for (const row of rows) {
      const { hostName, residence, movedTo } = row;
      const { kind } = await fitOf(database, rowOfOrganisation(row));
      if (kind === 'misfit') altered.push(row.id);
      else fitting.push({ hostName: hostName as string, residence, movedTo });
    }
    after = last.id;
  }
}

const place = (flag: string, help: string, usual: string) => optional(TEXT, flag, help, { default: usual });

export const FLEET = {
  name: 'fleet',
  help: 'the cells that TOLLGATE_FLEET_FILE lists: the proxy in front of them, and how they are',
  tasks: [
    task({
      name: 'fleet status',
      help: 'show how each cell is, and which organisations move; exit code 1 where one does not answer, a gateway is not ready, or a move needs you',
      scope: 'nobody',
      on: 'nothing',
      input: {},
      run: async () => fleetStatus(await fleetOfSettings()),
      says: ({ cells, moves }) => [...cells.map(inWords), ...moves.map(moveInWords)].join('\n'),
      fails: ({ cells }) => cells.some(({ problems }) => problems.length > 0),
    }),
    task({
      name: 'fleet map',
      help: 'print which host name leads to which cell, as the databases of all cells say',
      scope: 'nobody',
      on: 'nothing',
      input: { format: optional(choice('haproxy'), '--format <name>', '', { default: 'haproxy' as const }) },
      run: async () => wholeMap(await fleetOfSettings()),
      says: ({ map }) => map.trimEnd(),
    }),
    task({
      name: 'fleet proxy',
      help: 'print the configuration of HAProxy for this fleet',
      scope: 'nobody',
      on: 'nothing',
      input: {
        bind: place('--bind <address>', 'where it listens', USUAL_PLACES.bind),
        certificates: place(
          '--certificates <path>',
          'certificates with their keys',
          USUAL_PLACES.certificates,
        ),
        map: place('--map <path>', 'where the output of `fleet map` is kept', USUAL_PLACES.map),
        authority: place(
          '--authority <path>',
          'the authority of the gateways’ certificates',
          USUAL_PLACES.authority,
        ),
        socket: place('--socket <path>', 'for commands to HAProxy', USUAL_PLACES.socket),
      },
      run: async (_, places) => ({ configuration: haproxyConfiguration(await fleetOfSettings(), places) }),
      says: ({ configuration }) => configuration.trimEnd(),
    }),
  ],
} as const;

function inWords({ name, address, gateways, figures, problems }: CellStatus): string {
  const ready = gateways.filter((gateway) => gateway.ready).length;
  const head = `${name} (${address}): ${ready} of ${gateways.length} gateways ready`;
  const lines = problems.map((problem) => `  ! ${problem}`);
  if (figures === null) return [head, ...lines].join('\n');
  const {
    number,
    schema,
    releases,
    organisations,
    moving,
    moved,
    merchants,
    transactionsLastMinute,
    inDoubt,
  } = figures;
  return [
    `${head}; cell number ${number}, release ${releases.join(' and ') || 'unknown'}, schema ${schema}`,
    `  ${organisations} organisations (${moving} moving, and ${moved} have moved away), ${merchants} merchants, ${transactionsLastMinute} transactions in the last minute, ${inDoubt} in doubt`,
    ...lines,
  ].join('\n');
}

function moveInWords({
  organisation,
  from,
  to,
  step,
  begun,
  transactionsLeft,
  worked,
}: MoveUnderWay): string {
  const left =
    transactionsLeft === null
      ? 'what is left to copy cannot be read'
      : `${transactionsLeft} transactions left to copy`;
  return `organisation ${organisation} moves from ${from} to ${to} since ${begun.toISOString()}: ${step ?? 'unknown'}, ${left}${worked ? '' : ', no command works on it'}`;
}
