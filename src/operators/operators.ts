// Operators: the people who run the gateway. Each has a name, a role and a sign-in link, and is sealed as users are. This room owns
// their table.
import { randomBytes } from 'node:crypto';
import type { CredentialKey } from '../organisations/users/credentials.js';
import { isUniqueViolation, type Queryable } from '../postgres/database.js';
import { choice, ID, TEXT } from '../tasks/kinds.js';
import {
  type Doing,
  needed,
  nullable,
  OPERATOR_ROLES,
  type OperatorRole,
  optional,
  task,
} from '../tasks/task.js';
import { containsCardNumber } from '../values/card.js';
import type { OrganisationId } from '../values/ids.js';
import { Refusal, refuse } from '../values/refusal.js';
import { disabledOperators, lastSignInMs } from './idle-operators.js';
import {
  administersAll,
  changeOperator,
  isAsSealedLast,
  NO_MEANS,
  type OperatorRow,
  type SealedOperator,
} from './operator.js';
import {
  ADD_OPERATOR,
  FIND_OPERATOR,
  FIND_ORGANISATION,
  HAS_OPERATORS,
  LIST_OPERATORS,
  LOCK_OPERATORS,
} from './operators.sql.js';
import { databaseTime, endSessionsOf, listSessions, signOutEverywhere } from './sessions.js';

export interface OperatorView {
  readonly name: string;
  readonly role: OperatorRole;
  /** Absent: of the whole installation. */
  readonly organisation: OrganisationId | null;
  /** Until when the sign-in link that was made last works, if it was not used. */
  readonly link_until: Date | null;
  /** How this person can sign in to the console. */
  readonly signs_in_by: readonly ('passkey' | 'password' | 'provider')[];
  /** As the journal names them. Null where nobody remembers, and `operator:account:…` for the command line without a token. */
  readonly added_by: string | null;
  readonly added_at: Date | null;
  /** Null: never, or before this was recorded. */
  readonly last_signed_in: Date | null;
  /** Has not signed in for 90 days: cannot sign in until another administrator enables them. */
  readonly disabled: boolean;
  readonly removed: boolean;
  /** Whether the row is as it was sealed. One that is not is nobody. */
  readonly sealed: boolean;
}

/** The link is in here once, and nowhere else. */
export interface OperatorWithLink {
  readonly name: string;
  readonly link: string;
}

export interface NewOperator {
  readonly role: OperatorRole;
  readonly organisation?: number | undefined;
  /** Of the demo: its link signs in by itself. */
  readonly isDemo?: boolean;
}

const LINK_MS = 15 * 60_000;

/** `consoleUrl` is where the link leads to, without a slash at its end. */
export async function addOperator(
  database: Queryable,
  actor: string,
  key: CredentialKey,
  consoleUrl: string,
  name: string,
  { role, organisation, isDemo = false }: NewOperator,
): Promise<OperatorWithLink> {
  if (!/^[A-Za-z0-9._@-]{1,64}$/.test(name) || containsCardNumber(name)) refuse('operator_name_not_allowed');
  return database.transaction(async (connection) => {
    const isFirst = !isDemo && !(await hasOperators(connection));
    if (isFirst && !(role === 'administrator' && organisation === undefined))
      refuse('first_operator_not_administrator');
    const { count } = await connection
      .query(ADD_OPERATOR, [name, role, organisation ?? null, isDemo])
      .catch((error: unknown) => {
        throw isUniqueViolation(error) ? new Refusal('operator_exists', { name }) : error;
      });
    if (count === 0) refuse('organisation_not_found', { organisation: organisation as number });
    const { link, tag } = await newLink(connection, key, consoleUrl, name);
    const detail = inWords(role, organisation);
    await changeOperator(
      connection,
      key,
      name,
      { actor, action: 'operator.added', detail, isNew: true },
      async () => ({ ...tag, enabledMs: await databaseTime(connection) }),
    );
    return { name, link };
  });
}

/** Another sign-in link, in place of the one before. */
export async function linkOperator(
  database: Queryable,
  actor: string,
  key: CredentialKey,
  consoleUrl: string,
  name: string,
): Promise<OperatorWithLink> {
  const { link, tag } = await newLink(database, key, consoleUrl, name);
  const isRecovery = actor.startsWith('operator:account:') && (await hasOperators(database));
  const action = isRecovery ? 'operator.recovered' : 'operator.link_made';
  await changeOperator(database, key, name, { actor, action }, ({ removed }) => {
    if (removed) refuse('operator_removed', { name });
    return tag;
  });
  return { name, link };
}

/** Somebody who has not signed in for long can sign in again, and has 90 days to do so. */
export async function enableOperator(
  database: Queryable,
  actor: string,
  key: CredentialKey,
  name: string,
): Promise<OperatorView> {
  // guard(operators: nobody enables themselves): actor === `operator:${name}` ⇒ actor === ''
  if (actor === `operator:${name}`) refuse('operator_enables_themselves');
  const change = { actor, action: 'operator.enabled' } as const;
  const enabled = await changeOperator(database, key, name, change, async ({ removed }, connection) => {
    if (removed) refuse('operator_removed', { name });
    return { enabledMs: await databaseTime(connection) };
  });
  return viewOf(enabled, key);
}

export interface OperatorSettings {
  readonly role?: OperatorRole | undefined;
  /** `null`: of the whole installation. */
  readonly organisation?: number | null | undefined;
}

/** Another role, or another organisation; what is not named stays as it is. Whoever is signed in is signed out. */
export async function setOperator(
  database: Queryable,
  actor: string,
  key: CredentialKey,
  name: string,
  { role, organisation }: OperatorSettings,
): Promise<OperatorView> {
  const detail = [
    role,
    organisation === null ? 'of the whole installation' : organisation && `of organisation ${organisation}`,
  ];
  const change = {
    actor,
    action: 'operator.changed',
    detail: detail.filter((each) => each !== undefined).join(', '),
  } as const;
  return database.transaction(async (connection) => {
    const isLess = (role ?? 'administrator') !== 'administrator' || (organisation ?? null) !== null;
    if (isLess) await keepAnAdministrator(connection, key, name);
    if (organisation != null && (await connection.query(FIND_ORGANISATION, [organisation])).count === 0)
      refuse('organisation_not_found', { organisation });
    await endSessionsOf(connection, name);
    const changed = await changeOperator(connection, key, name, change, (before) => {
      if (before.removed) refuse('operator_removed', { name });
      return {
        role: role ?? before.role,
        organisationId:
          organisation === undefined ? before.organisationId : (organisation as OrganisationId | null),
      };
    });
    return viewOf(changed, key);
  });
}

/** Somebody must be left who can add others, as long as there are any. */
async function keepAnAdministrator(connection: Queryable, key: CredentialKey, name: string): Promise<void> {
  await connection.query(LOCK_OPERATORS);
  // Read after the lock: a row that another change has just sealed must be seen with its seal.
  const { rows } = await connection.query<OperatorRow>(LIST_OPERATORS);
  const present = rows.filter(({ removed, isDemo }) => !removed && !isDemo);
  const others = present.filter((row) => row.name !== name);
  const isNeeded = present.some((row) => row.name === name && administersAll(row));
  if (!isNeeded || others.length === 0) return;
  for (const other of others)
    if (administersAll(other) && (await isAsSealedLast(connection, key, other))) return;
  refuse('last_administrator', { name });
}

/** For good: the name is not given to another. Whoever is signed in is signed out. Idempotent. */
export async function removeOperator(
  database: Queryable,
  actor: string,
  key: CredentialKey,
  name: string,
): Promise<OperatorView> {
  const without = { ...NO_MEANS, formerPasswords: [], removed: true, linkTag: null, linkUntilMs: null };
  const change = { actor, action: 'operator.removed', evenBroken: true } as const;
  return database.transaction(async (connection) => {
    await keepAnAdministrator(connection, key, name);
    await endSessionsOf(connection, name);
    return viewOf(await changeOperator(connection, key, name, change, () => without), key);
  });
}

export async function listOperators(database: Queryable, key: CredentialKey): Promise<OperatorView[]> {
  const { rows } = await database.query<OperatorRow>(LIST_OPERATORS);
  const disabled = disabledOperators(rows, key, await databaseTime(database));
  return Promise.all(
    rows.map(async (row) =>
      viewOf(row, key, await isAsSealedLast(database, key, row), disabled.has(row.name)),
    ),
  );
}

/** Whether there are any: then whoever acts is one of them. */
export async function hasOperators(database: Queryable): Promise<boolean> {
  return (await database.query(HAS_OPERATORS)).count > 0;
}

/** The operator of this name, who may act. With a key, also that it is as it was sealed: nobody has made it up, or given it a role. */
export async function findActingOperator(
  database: Queryable,
  name: string,
  key?: CredentialKey,
): Promise<SealedOperator> {
  const { rows } = await database.query<OperatorRow>(FIND_OPERATOR, [name]);
  const row = rows[0] ?? refuse('operator_not_found', { name });
  if (row.removed) refuse('operator_removed', { name });
  // guard(operators: nobody who is not as it was sealed): if (key !== undefined && !(await isAsSealedLast(database, key, row))) ⇒ if (key !== undefined && row.removed)
  if (key !== undefined && !(await isAsSealedLast(database, key, row)))
    refuse('operator_seal_broken', { name });
  return row;
}

function inWords(role: OperatorRole, organisation: number | null | undefined): string {
  return organisation == null ? role : `${role}, of organisation ${organisation}`;
}

async function newLink(
  database: Queryable,
  key: CredentialKey,
  consoleUrl: string,
  name: string,
): Promise<{ readonly link: string; readonly tag: Pick<SealedOperator, 'linkTag' | 'linkUntilMs'> }> {
  const token = randomBytes(24).toString('base64url');
  // Behind the #, so that it is in no server's log.
  const link = `${consoleUrl}/sign-in#${encodeURIComponent(name)}:${token}`;
  return {
    link,
    tag: { linkTag: key.tagOfLink(name, token), linkUntilMs: (await databaseTime(database)) + LINK_MS },
  };
}

function viewOf(operator: OperatorRow, key: CredentialKey, sealed = true, disabled = false): OperatorView {
  const { name, role, organisationId, linkUntilMs, removed, passkeys, password, providerSubject } = operator;
  const added = sealed ? operator.history.find(({ action }) => action === 'operator.added') : undefined;
  const signedInMs = lastSignInMs(operator, key);
  return {
    name,
    role,
    organisation: organisationId,
    link_until: linkUntilMs === null ? null : new Date(linkUntilMs),
    signs_in_by: [
      ...(passkeys.length > 0 ? (['passkey'] as const) : []),
      ...(password === null ? [] : (['password'] as const)),
      ...(providerSubject === null ? [] : (['provider'] as const)),
    ],
    added_by: added?.by ?? null,
    added_at: added === undefined ? null : new Date(added.atMs),
    last_signed_in: signedInMs === null ? null : new Date(signedInMs),
    disabled,
    removed,
    sealed,
  };
}

const OPERATOR = needed(TEXT, '<name>', 'the operator', { names: 'operators' });
const ROLE = choice(...OPERATOR_ROLES);
const MAY = 'what this person may do';
const OF_ORGANISATION = ['--organisation <id>', 'only of this organisation'] as const;

type WithKey = Doing<{ key(): Promise<CredentialKey>; readonly consoleUrl: string }>;

const linkInWords = ({ link }: OperatorWithLink) =>
  `The sign-in link is shown only now, and works once, for 15 minutes: ${link}`;

export const OPERATORS = {
  name: 'operator',
  help: 'operators are the people who run the gateway',
  tasks: [
    task({
      name: 'operator add',
      help: 'add an operator and print a sign-in link, once; it works for 15 minutes',
      role: 'administrator',
      scope: 'organisation',
      route: 'POST /operators',
      fresh: true,
      secondPerson: { for: 'administrators', when: async (_, { role }) => role === 'administrator' },
      input: {
        name: needed(TEXT, '<name>', 'what the journal calls this person'),
        role: needed(ROLE, '--role <role>', MAY),
        organisation: optional(ID, ...OF_ORGANISATION, { names: 'organisations' }),
      },
      run: async ({ database, actor, means }: WithKey, { name, ...wish }) =>
        addOperator(database, actor, await means.key(), means.consoleUrl, name, wish),
      says: (added) => `Operator ${added.name} added. ${linkInWords(added)}`,
    }),
    task({
      name: 'operator list',
      help: 'list the operators',
      role: 'viewer',
      scope: 'installation',
      route: 'GET /operators',
      input: {},
      run: async ({ database, means }: WithKey) => listOperators(database, await means.key()),
    }),
    task({
      name: 'operator link',
      help: 'print another sign-in link, in place of the one before; it works for 15 minutes',
      role: 'administrator',
      scope: 'organisation',
      route: 'POST /operators/:name/link',
      fresh: true,
      // If nobody can sign in any more.
      byAccount: true,
      input: { name: OPERATOR },
      run: async ({ database, actor, means }: WithKey, { name }) =>
        linkOperator(database, actor, await means.key(), means.consoleUrl, name),
      says: linkInWords,
    }),
    task({
      name: 'operator enable',
      help: 'let an operator sign in again who has not for 90 days',
      role: 'administrator',
      scope: 'organisation',
      route: 'POST /operators/:name/enable',
      fresh: true,
      input: { name: OPERATOR },
      run: async ({ database, actor, means }: WithKey, { name }) =>
        enableOperator(database, actor, await means.key(), name),
      says: ({ name }) => `Operator ${name} can sign in again.`,
    }),
    task({
      name: 'operator remove',
      help: 'remove an operator, for good',
      role: 'administrator',
      scope: 'organisation',
      route: 'POST /operators/:name/remove',
      fresh: true,
      input: { name: OPERATOR },
      run: async ({ database, actor, means }: WithKey, { name }) =>
        removeOperator(database, actor, await means.key(), name),
      says: ({ name }) => `Operator ${name} is removed.`,
    }),
    task({
      name: 'operator set',
      help: 'give an operator another role or organisation; whoever is signed in is signed out',
      role: 'administrator',
      // May lift the limit to one organisation.
      scope: 'installation',
      route: 'POST /operators/:name/set',
      fresh: true,
      secondPerson: {
        for: 'administrators',
        when: async ({ database }, { name, role, organisation }) => {
          const before = await findActingOperator(database, name);
          const isRaised = before.role !== 'administrator' || organisation !== undefined;
          return (role ?? before.role) === 'administrator' && isRaised;
        },
      },
      input: {
        name: OPERATOR,
        role: optional(ROLE, '--role <role>', MAY),
        organisation: nullable(ID, ...OF_ORGANISATION, {
          names: 'organisations',
          without: ['--whole-installation', 'of all organisations'],
          excludes: '--whole-installation',
        }),
      },
      run: async ({ database, actor, means }: WithKey, { name, ...change }) =>
        setOperator(database, actor, await means.key(), name, change),
      says: ({ name, role }) => `Operator ${name} is ${role} by now.`,
    }),
    task({
      name: 'operator sessions',
      help: 'list where an operator is signed in to the console',
      role: 'administrator',
      scope: 'organisation',
      route: 'GET /operators/:name/sessions',
      input: { name: OPERATOR },
      run: async ({ database, settings }, { name }) =>
        (await listSessions(database, name, settings.sessionIdleMs)).map(
          ({ current: _, ...session }) => session,
        ),
    }),
    task({
      name: 'operator sign-out',
      help: 'end all sessions of an operator on the console',
      role: 'administrator',
      scope: 'organisation',
      route: 'POST /operators/:name/sign-out',
      fresh: true,
      input: { name: OPERATOR },
      run: async ({ database, actor }, { name }) => ({
        name,
        ended: await signOutEverywhere(database, actor, name),
      }),
      says: ({ name, ended }) => `Sessions of ${name} that were ended: ${ended}.`,
    }),
  ],
} as const;
