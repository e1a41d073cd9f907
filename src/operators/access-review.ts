// The review of access: everybody who may do something, people and API users, and what looks wrong about it. PCI DSS 7.2.4 wants one every
// six months; the journal has who made it.
import { journal } from '../journal/journal.js';
import type { CredentialKey } from '../organisations/users/credentials.js';
import { listUsers, type UserView } from '../organisations/users/users.js';
import type { Queryable } from '../postgres/database.js';
import { TEXT } from '../tasks/kinds.js';
import { type Doing, optional, task } from '../tasks/task.js';
import { csvLine, csvLines } from '../values/csv.js';
import type { OrganisationId } from '../values/ids.js';
import { refuse } from '../values/refusal.js';
import { exists, writeText } from '../values/whole-file.js';
import { IDLE_DAYS } from './idle-operators.js';
import { listOperators, type OperatorView } from './operators.js';
import { ACCESS_GIVEN } from './operators.sql.js';

export interface ReviewedAccess {
  readonly kind: 'operator' | 'user';
  readonly name: string;
  /** Empty: the whole installation. */
  readonly organisation: OrganisationId | null;
  /** The role of an operator; what an API user may do. */
  readonly rights: readonly string[];
  /** Of an API user. */
  readonly merchants: readonly number[];
  readonly signs_in_by: readonly string[];
  readonly added_at: Date | null;
  readonly added_by: string | null;
  readonly last_used: Date | string | null;
  readonly looks_wrong: readonly string[];
}

const COLUMNS: readonly (keyof ReviewedAccess)[] = [
  'kind',
  'name',
  'organisation',
  'rights',
  'merchants',
  'signs_in_by',
  'added_at',
  'added_by',
  'last_used',
  'looks_wrong',
];

interface Given {
  readonly action: 'operator.added' | 'user.added' | 'operator.reviewed';
  readonly name: string;
  readonly actor: string;
  readonly at: Date;
}

/** Without those who were removed or revoked. */
export async function reviewAccess(
  database: Queryable,
  actor: string,
  key: CredentialKey,
): Promise<ReviewedAccess[]> {
  const operators = await listOperators(database, key);
  const users = await listUsers(database, key);
  const { rows } = await database.query<Given>(ACCESS_GIVEN);
  const given = new Map(rows.map((row) => [`${row.action} ${row.name}`, row]));
  const reviewed = [
    ...operators
      .filter(({ removed }) => !removed)
      .map((each) => ofOperator(each, given.get(`operator.added ${each.name}`))),
    ...users
      .filter(({ revoked }) => !revoked)
      .map((each) => ofUser(each, given.get(`user.added ${each.username}`))),
  ];
  const count = (wanted: ReviewedAccess['kind']) => reviewed.filter(({ kind }) => kind === wanted).length;
  const wrong = reviewed.filter(({ looks_wrong }) => looks_wrong.length > 0).length;
  const detail = `${count('operator')} operators, ${count('user')} API users, ${wrong} with something that looks wrong`;
  await journal(database, { actor, action: 'operator.reviewed', detail });
  return reviewed;
}

function ofOperator(operator: OperatorView, given: Given | undefined): ReviewedAccess {
  const { name, role, organisation, signs_in_by, last_signed_in, disabled, sealed } = operator;
  const isWeak = !signs_in_by.includes('passkey') && !signs_in_by.includes('provider');
  const looksWrong: readonly [wrong: boolean, words: string][] = [
    [!sealed, 'somebody has changed it in the database'],
    [disabled, `no sign-in for ${IDLE_DAYS} days: disabled`],
    [last_signed_in === null, 'has never signed in'],
    [role === 'administrator' && isWeak, 'an administrator without a passkey'],
  ];
  return {
    kind: 'operator',
    name,
    organisation,
    rights: [role],
    merchants: [],
    signs_in_by,
    ...addedIn(given),
    last_used: last_signed_in,
    looks_wrong: looksWrong.filter(([wrong]) => wrong).map(([, words]) => words),
  };
}

function ofUser(user: UserView, given: Given | undefined): ReviewedAccess {
  const { username, organisation, merchant, grants, allow, last_used, expires, sealed } = user;
  const nowMs = Date.now();
  const unusedMs = nowMs - Date.parse(last_used ?? '');
  const looksWrong: readonly [wrong: boolean, words: string][] = [
    [!sealed, 'somebody has changed it in the database'],
    [expires !== null && expires.getTime() < nowMs, 'has expired'],
    [last_used === null, 'was never used'],
    [unusedMs > IDLE_DAYS * 86_400_000, `was not used for ${IDLE_DAYS} days`],
  ];
  return {
    kind: 'user',
    name: username,
    organisation,
    rights: allow,
    merchants: [...new Set([merchant, ...grants])],
    signs_in_by: ['secret', ...(user.client_certificates.length > 0 ? ['certificate'] : [])],
    ...addedIn(given),
    last_used,
    looks_wrong: looksWrong.filter(([wrong]) => wrong).map(([, words]) => words),
  };
}

function addedIn(given: Given | undefined): Pick<ReviewedAccess, 'added_at' | 'added_by'> {
  return { added_at: given?.at ?? null, added_by: given?.actor ?? null };
}

/** For an auditor. */
export function accessAsCsv(reviewed: readonly ReviewedAccess[]): string {
  const rows = reviewed.map((row) =>
    Object.fromEntries(
      Object.entries(row).map(([name, value]) => [
        name,
        Array.isArray(value) ? value.join('; ') : value instanceof Date ? value.toISOString() : value,
      ]),
    ),
  );
  return csvLine(COLUMNS) + csvLines(COLUMNS, rows);
}

export const ACCESS_REVIEW = task({
  name: 'operator review',
  help: 'list who may do what, operators and API users, with what looks wrong; the journal notes the review',
  role: 'administrator',
  scope: 'installation',
  fresh: true,
  input: {
    csv: optional(TEXT, '--csv <file>', 'also write it as CSV; never overwrites another file'),
  },
  run: async ({ database, actor, means }: Doing<{ key(): Promise<CredentialKey> }>, { csv }) => {
    // Before the journal says that it was reviewed.
    if (csv !== undefined && (await exists(csv))) refuse('path_taken', { path: csv });
    const reviewed = await reviewAccess(database, actor, await means.key());
    if (csv !== undefined) await writeText(csv, 'refuse', accessAsCsv(reviewed));
    return reviewed;
  },
});
