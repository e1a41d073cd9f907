// Links to acquirers, as the operator adds them, changes them, looks at them and tries them. This room owns their table.
import { type JournalAction, journal } from '../journal/journal.js';
import { checkSeal, isAsSealed, type SealedRow } from '../journal/seals.js';
import type { Database, Queryable } from '../postgres/database.js';
import { FLAG, fileContent, type Kind, NUMBER, TEXT } from '../tasks/kinds.js';
import { type Doing, needed, nullable, optional, task } from '../tasks/task.js';
import type { Mode } from '../values/mode.js';
import { type FieldProblem, refuse } from '../values/refusal.js';
import { lines, table } from '../values/text-table.js';
import { sydneyTimestamp } from '../values/time.js';
import type { KeyProvider } from '../vault/keys/key-provider.js';
import type { WrappedRows } from '../vault/keys/wrapped-rows.js';
import {
  ADD_ACQUIRER,
  ALL_MAC_KEYS,
  IN_DOUBT_AT_ACQUIRER,
  LOCK_ACQUIRER,
  MERCHANTS_OF_ACQUIRER,
  MERCHANTS_ROUTED_TO_ACQUIRER,
  REMOVE_ACQUIRER,
  REWRAP_MAC_KEYS,
  SET_ACQUIRER,
  UNSEEN_AT_ACQUIRERS,
} from './acquirer-tasks.sql.js';
import {
  type AcquirerRow,
  isUnprotected,
  lineOf,
  readAcquirer,
  readAcquirers,
  sealedAcquirer,
  subjectOfAcquirer,
  versionSaid,
} from './configured.js';
import { DEFAULT_DIALECT, DIALECT_NAMES } from './iso8583/dialects/dialects.js';
import { macKeysContext, openMacs, readMacKeys, wrapMacKeys } from './iso8583/mac-keys.js';
import { tryHost } from './iso8583/trial.js';
import {
  conditionOf,
  type GatewayOfLink,
  gatewaysOf,
  type LinkCondition,
  runningGateways,
} from './running-gateways.js';

/** What can be changed afterwards. `null` takes away. */
export interface AcquirerChange {
  readonly address?: string | undefined;
  readonly tls?: boolean | undefined;
  /** Certificates in PEM. */
  readonly trusted?: string | null | undefined;
  readonly dialect?: string | undefined;
  readonly connections?: number | undefined;
  readonly institution?: string | null | undefined;
  readonly deadlineMs?: number | undefined;
  /** In hexadecimal, as they stand in a file: one for both ways, or that for sending and that for receiving. */
  readonly macKeys?: string | null | undefined;
  /** Somebody knows that a live link goes without TLS or MAC in production. */
  readonly plaintextKnown?: boolean | undefined;
}

export interface NewAcquirer extends AcquirerChange {
  readonly name: string;
  readonly address: string;
  /** A link is test or live from the beginning, and for good. */
  readonly test?: boolean | undefined;
}

interface AcquirerView {
  readonly name: string;
  readonly kind: 'iso8583';
  readonly mode: Mode;
  /** `host:port`. */
  readonly address: string;
  readonly tls: boolean;
  readonly dialect: string;
  readonly connections: number;
  readonly institution: string | null;
  readonly deadlineMs: number;
  readonly mac: boolean;
}

export interface ListedAcquirer extends AcquirerView, LinkCondition {
  /** How many run. */
  readonly gateways: number;
  /** How many of them have a connection that is signed on. */
  readonly gatewaysSignedOn: number;
  /** On how many of them it is taken out for somebody, because payments got no answer. */
  readonly gatewaysFailing: number;
}

interface AcquirerDetails extends AcquirerView, LinkCondition {
  /** By which the two sides compare their keys. */
  readonly sendingKeyCheckValue: string | null;
  readonly receivingKeyCheckValue: string | null;
  readonly ownCertificates: boolean;
  /** Who pays over it unless a route says otherwise. */
  readonly merchants: readonly number[];
  /** Those that run. */
  readonly gateways: readonly GatewayOfLink[];
  /** Whose routes lead to it. */
  readonly routedMerchants: readonly number[];
}

const NAME = /^[a-z][a-z0-9_-]{0,31}$/;
const RESERVED = ['simulator', 'simulated-bank', 'directdebit', 'none'];
const ADDRESS = /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9.-]{1,253})):([0-9]{1,5})$/;
const INSTITUTION = /^[0-9]{1,11}$/;
const CERTIFICATE = /-----BEGIN CERTIFICATE-----/;
// Without what was given: it may be a key.
const MAC_KEYS =
  'MAC keys are 32 hexadecimal digits: one key for both ways, or one for sending and, on the next line, one for receiving';
const DEFAULTS = { connections: 1, deadlineMs: 10_000 };
const LIMITS = { connections: [1, 32], deadlineMs: [100, 120_000] } as const;

/** For the rotation of the key-encryption key. */
export const WRAPPED_MAC_KEYS: WrappedRows = {
  context: macKeysContext,
  all: ALL_MAC_KEYS,
  rewrap: REWRAP_MAC_KEYS,
  resealing: async (connection, actor, name, rewrap) => {
    await connection.query(LOCK_ACQUIRER, [name]);
    const before = await readAcquirer(connection, name);
    const isRight = before !== undefined && (await isAsSealed(connection, sealedAcquirer(before)));
    await rewrap();
    const after = await readAcquirer(connection, name);
    // A link that was altered stays one.
    if (!isRight || after === undefined) return;
    await journalAcquirer(connection, actor, 'keys.rewrapped', after, { sealed: sealedAcquirer(after) });
  },
};

export async function addAcquirer(
  database: Queryable,
  operator: string,
  provider: KeyProvider,
  wish: NewAcquirer,
  inProduction = false,
): Promise<AcquirerView> {
  const { name, address, test = false } = wish;
  checkAcquirer({ ...wish, name });
  const row: AcquirerRow = await changed(provider, wish, {
    name,
    kind: 'iso8583',
    mode: test ? 'test' : 'live',
    ...hostOf(address),
    tls: false,
    trusted: null,
    dialect: DEFAULT_DIALECT,
    ...DEFAULTS,
    institution: null,
    keyId: null,
    wrapped: null,
    plaintextKnown: false,
    newest: null,
  });
  checkProtection(row, inProduction);
  return database.transaction(async (connection) => {
    const values = [name, row.kind, row.mode, ...settingsOf(row)];
    const { rows } = await connection.query(ADD_ACQUIRER, values);
    if (rows.length === 0) refuse('acquirer_exists', { acquirer: name });
    await journalAcquirer(connection, operator, 'acquirer.added', row, { sealed: sealedAcquirer(row) });
    return viewOf(row);
  });
}

export async function listAcquirers(database: Queryable): Promise<ListedAcquirer[]> {
  const [rows, running] = [await readAcquirers(database), await runningGateways(database)];
  return rows.map((row) => {
    const connected = gatewaysOf(row.name, versionSaid(row), running);
    const gatewaysSignedOn = connected.filter(({ signedOn }) => signedOn > 0).length;
    const gatewaysFailing = connected.filter(({ failingFor }) => failingFor > 0).length;
    const { name, ...settings } = viewOf(row);
    // How it does comes first: the table is wide.
    return {
      name,
      ...conditionOf(connected),
      ...settings,
      ...{ gateways: running.length, gatewaysSignedOn, gatewaysFailing },
    };
  });
}

/** An order that its host had never seen when it acknowledged the reversal: worth a look when the books are compared. */
interface UnseenOrder {
  readonly acquirer: string;
  readonly organisationId: number;
  readonly merchantId: number;
  readonly audit: number;
  readonly transactionType: string;
  readonly amountCents: number;
  readonly currency: string;
  readonly terminal: string;
  readonly stan: number;
  readonly retrievalReference: string;
  readonly reversedAt: string;
  /** Whether the host approved it after all, and what became of that. */
  readonly state: 'never seen' | 'being reversed again' | 'reversed again';
}

type UnseenRow = Omit<UnseenOrder, 'reversedAt'> & { readonly reversedMs: number };

export async function unseenOrders(database: Database, name: string | undefined): Promise<UnseenOrder[]> {
  if (name !== undefined) await found(database, name);
  const { rows } = await database.query<UnseenRow>(UNSEEN_AT_ACQUIRERS, [name ?? null]);
  return rows.map(({ reversedMs, state, ...row }) => ({
    ...row,
    reversedAt: sydneyTimestamp(reversedMs),
    state,
  }));
}

export async function showAcquirer(
  database: Database,
  provider: KeyProvider,
  name: string,
): Promise<AcquirerDetails> {
  const row = await found(database, name);
  const { keyId, wrapped } = row;
  const macs =
    keyId === null || wrapped === null ? undefined : await openMacs(provider, name, { keyId, wrapped });
  const gateways = gatewaysOf(name, versionSaid(row), await runningGateways(database));
  return {
    ...viewOf(row),
    ...conditionOf(gateways),
    sendingKeyCheckValue: macs?.sending.checkValue ?? null,
    receivingKeyCheckValue: macs?.receiving.checkValue ?? null,
    ownCertificates: row.trusted !== null,
    merchants: await merchantsOf(database, name),
    gateways,
    routedMerchants: await routedTo(database, name),
  };
}

/** Gateways open it anew within a second or two, and finish what they have sent over it. */
export function setAcquirer(
  database: Database,
  operator: string,
  provider: KeyProvider,
  name: string,
  change: AcquirerChange,
  inProduction = false,
): Promise<AcquirerView> {
  checkAcquirer(change);
  return database.transaction(async (connection) => {
    await connection.query(LOCK_ACQUIRER, [name]);
    const before = await found(connection, name);
    await checkSeal(connection, sealedAcquirer(before));
    const row = await changed(provider, change, before);
    checkProtection(row, inProduction);
    await connection.query(SET_ACQUIRER, [name, ...settingsOf(row)]);
    const more = change.macKeys === undefined || change.macKeys === null ? [] : ['new MAC keys'];
    await journalAcquirer(connection, operator, 'acquirer.changed', row, {
      more,
      sealed: sealedAcquirer(row),
    });
    return viewOf(row);
  });
}

function checkProtection(row: AcquirerRow, inProduction: boolean): void {
  if (inProduction && isUnprotected(row)) refuse('acquirer_unprotected', { acquirer: row.name });
}

/** Not while a merchant pays over it, nor while a route leads to it, nor while anything is in doubt there that nobody could find out about any more. */
export function removeAcquirer(database: Queryable, operator: string, name: string): Promise<AcquirerView> {
  return database.transaction(async (connection) => {
    await connection.query(LOCK_ACQUIRER, [name]);
    const row = await found(connection, name);
    const merchants = await merchantsOf(connection, name);
    if (merchants.length > 0) refuse('acquirer_in_use', { acquirer: name, merchants });
    const routed = await routedTo(connection, name);
    // guard(routes: a link that a route leads to is not removed): if (routed.length > 0) refuse('acquirer_routed', { acquirer: name, merchants: routed }) ⇒ void routed
    if (routed.length > 0) refuse('acquirer_routed', { acquirer: name, merchants: routed });
    const { rows } = await connection.query<{ inDoubt: number }>(IN_DOUBT_AT_ACQUIRER, [name]);
    const inDoubt = rows[0]?.inDoubt ?? 0;
    if (inDoubt > 0) refuse('acquirer_in_doubt', { acquirer: name, inDoubt });
    await connection.query(REMOVE_ACQUIRER, [name]);
    const sealed = { subject: subjectOfAcquirer(name), state: null };
    await journalAcquirer(connection, operator, 'acquirer.removed', row, { sealed });
    return viewOf(row);
  });
}

/** Connects beside the gateways, signs on, echoes and signs off. */
export async function testAcquirer(
  database: Database,
  operator: string,
  provider: KeyProvider,
  name: string,
) {
  const row = await found(database, name);
  await checkSeal(database, sealedAcquirer(row));
  const line = await lineOf(row, provider, { onConnectionEvent: () => {} });
  const trial = await tryHost(line).catch((error: Error) =>
    refuse('acquirer_does_not_answer', { acquirer: name, reason: error.message }),
  );
  await journalAcquirer(database, operator, 'acquirer.tested', row);
  return { name, ...trial };
}

async function found(connection: Queryable, name: string): Promise<AcquirerRow> {
  return (await readAcquirer(connection, name)) ?? refuse('acquirer_not_found', { acquirer: name });
}

async function routedTo(connection: Queryable, name: string): Promise<number[]> {
  const { rows } = await connection.query<{ id: number }>(MERCHANTS_ROUTED_TO_ACQUIRER, [name]);
  return rows.map(({ id }) => id);
}

async function merchantsOf(connection: Queryable, name: string): Promise<number[]> {
  const { rows } = await connection.query<{ id: number }>(MERCHANTS_OF_ACQUIRER, [name]);
  return rows.map(({ id }) => id);
}

async function changed(
  provider: KeyProvider,
  change: AcquirerChange,
  row: AcquirerRow,
): Promise<AcquirerRow> {
  const { address, tls, trusted, dialect, connections, institution, deadlineMs, macKeys } = change;
  const plaintextKnown = change.plaintextKnown ?? row.plaintextKnown;
  // Whoever says which certificates to trust expects TLS, and would pay in clear.
  if (trusted != null && !(tls ?? row.tls)) {
    refuse('acquirer_not_allowed', { problems: [{ field: 'trusted', rule: 'is for a link with TLS' }] });
  }
  const wished = {
    ...row,
    ...(address !== undefined && hostOf(address)),
    ...(tls !== undefined && { tls }),
    ...(trusted !== undefined && { trusted }),
    ...(dialect !== undefined && { dialect }),
    ...(connections !== undefined && { connections }),
    ...(institution !== undefined && { institution }),
    ...(deadlineMs !== undefined && { deadlineMs }),
    ...(macKeys !== undefined && (await wrapped(provider, row.name, macKeys))),
  };
  // What was said of an unprotected link is not kept for a protected one, which may lose its TLS later.
  return { ...wished, plaintextKnown: plaintextKnown && isUnprotected({ ...wished, plaintextKnown: false }) };
}

async function wrapped(
  provider: KeyProvider,
  name: string,
  text: string | null,
): Promise<Pick<AcquirerRow, 'keyId' | 'wrapped'>> {
  if (text === null) return { keyId: null, wrapped: null };
  return wrapMacKeys(provider, name, checkedMacKeys(text));
}

function settingsOf(row: AcquirerRow): unknown[] {
  const { host, port, tls, trusted, dialect, connections, institution, deadlineMs, keyId } = row;
  const line = [host, port, tls, trusted, dialect, connections, institution, deadlineMs];
  return [...line, keyId, row.wrapped, row.plaintextKnown];
}

function viewOf(row: AcquirerRow): AcquirerView {
  const { name, kind, mode, host, port, tls, dialect, connections, institution, deadlineMs } = row;
  const address = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
  const mac = row.wrapped !== null;
  return { name, kind, mode, address, tls, dialect, connections, institution, deadlineMs, mac };
}

function journalAcquirer(
  connection: Queryable,
  actor: string,
  action: JournalAction,
  row: AcquirerRow,
  { more = [], sealed }: { readonly more?: readonly string[]; readonly sealed?: SealedRow } = {},
): Promise<void> {
  const { name, mode, address, dialect, tls, mac } = viewOf(row);
  const protection = [...(tls ? ['TLS'] : []), ...(mac ? ['MAC'] : [])];
  const how = [
    mode,
    address,
    dialect,
    ...protection,
    ...(row.plaintextKnown ? ['plaintext known'] : []),
    ...more,
  ];
  return journal(connection, { actor, action, detail: `${name}: ${how.join(', ')}` }, sealed);
}

/** Every problem at once. */
function checkAcquirer(wish: AcquirerChange & { readonly name?: string }): void {
  const problems: FieldProblem[] = [];
  const { name, address, dialect, institution, macKeys, trusted } = wish;
  const wrong = (field: keyof typeof wish, rule: string) => problems.push({ field, rule });
  if (name !== undefined && (!NAME.test(name) || RESERVED.includes(name)))
    wrong('name', `takes 1 to 32 small letters, digits, _ and -, and is none of ${RESERVED.join(', ')}`);
  if (address !== undefined && !isAddress(address))
    wrong('address', 'takes a host and a port, such as host.example:5001');
  if (dialect !== undefined && !DIALECT_NAMES.includes(dialect))
    wrong('dialect', `takes one of ${DIALECT_NAMES.join(', ')}`);
  for (const field of ['connections', 'deadlineMs'] as const) {
    const [least, most] = LIMITS[field];
    const number = wish[field];
    if (number !== undefined && !(Number.isInteger(number) && number >= least && number <= most))
      wrong(field, `takes a whole number from ${least} to ${most}`);
  }
  if (isGiven(institution) && !INSTITUTION.test(institution)) wrong('institution', 'takes 1 to 11 digits');
  if (isGiven(macKeys) && readMacKeys(macKeys) === undefined) wrong('macKeys', MAC_KEYS);
  if (isGiven(trusted) && !CERTIFICATE.test(trusted)) wrong('trusted', 'takes certificates in PEM');
  if (problems.length > 0) refuse('acquirer_not_allowed', { problems });
}

function isGiven(text: string | null | undefined): text is string {
  return text !== undefined && text !== null;
}

/** Of a text that was checked. */
function checkedMacKeys(text: string): Buffer {
  const keys = readMacKeys(text);
  if (keys === undefined) throw new Error('MAC keys that were not checked');
  return keys;
}

function isAddress(text: string): boolean {
  const port = Number(ADDRESS.exec(text)?.[3] ?? 0);
  return port >= 1 && port <= 65_535;
}

function hostOf(address: string): Pick<AcquirerRow, 'host' | 'port'> {
  const [, bracketed, plain = '', port] = ADDRESS.exec(address) ?? [];
  return { host: bracketed ?? plain, port: Number(port) };
}

const LINK = needed(TEXT, '<name>', 'the link');
const ADDRESS_OF_HOST = ['--address <host:port>', 'where the host is'] as const;
const TLS = ['--tls', 'connect with TLS'] as const;

/** On the console there is no other. */
const KIND: Kind<string> = {
  ...TEXT,
  read: (text) => (text === 'iso8583' ? text : undefined),
  mustBe: 'It must be iso8583.',
};

/** `isNew`: of a link that has no settings yet. Those of another can be taken away. */
function settings({ isNew }: { readonly isNew: boolean }) {
  const unless = (value: string | number) => (isNew ? ` (default: ${value})` : '');
  const range = ([least, most]: readonly [number, number]) => `${least} to ${most}`;
  const without = (flag: string, help: string) => (isNew ? {} : { without: [flag, help] as const });
  return {
    dialect: optional(
      TEXT,
      '--dialect <name>',
      `how it spells ISO 8583: ${DIALECT_NAMES.join(', ')}${unless(DEFAULT_DIALECT)}`,
    ),
    connections: optional(
      NUMBER,
      '--connections <n>',
      `how many connections each gateway process keeps, ${range(LIMITS.connections)}${unless(DEFAULTS.connections)}`,
    ),
    institution: nullable(
      TEXT,
      '--institution <id>',
      'the acquiring institution, field 32 of messages: up to 11 digits',
      without('--no-institution', 'send no institution any more'),
    ),
    deadlineMs: optional(
      NUMBER,
      '--deadline <ms>',
      `how long to wait for an answer, ${range(LIMITS.deadlineMs)}${unless(DEFAULTS.deadlineMs)}`,
    ),
    macKeys: nullable(
      fileContent(256),
      '--mac-key-file <file>',
      'a file with the MAC key, 32 hexadecimal digits, or with one for sending and one for receiving',
      { ...without('--no-mac', 'send and expect no MACs any more'), excludes: '--no-mac' },
    ),
    plaintextKnown: optional(
      FLAG,
      '--plaintext-i-know',
      'in production: this live link goes without TLS or MAC, and cards can be read on their way',
    ),
    trusted: nullable(
      fileContent(),
      '--tls-ca-file <file>',
      'a file with certificates in PEM, trusted in place of the usual ones',
      without('--no-tls-ca-file', 'trust the usual certificates again'),
    ),
  };
}

type WithKey = Doing<{ provider(): Promise<KeyProvider> }>;

async function isLive({ database }: Doing, { name }: { readonly name: string }): Promise<boolean> {
  return (await readAcquirer(database, name))?.mode === 'live';
}

/** The merchants of all organisations share links. */
export const ACQUIRERS = {
  name: 'acquirer',
  help: 'the links to acquirers, over which cards are paid',
  tasks: [
    task({
      name: 'acquirer add',
      help: 'add a link; gateways connect within a second or two',
      role: 'administrator',
      scope: 'installation',
      route: 'POST /acquirers',
      fresh: true,
      secondPerson: { for: 'links', when: async (_, { test = false }) => !test },
      input: {
        name: needed(TEXT, '<name>', 'what the link is called'),
        kind: needed(KIND, '--kind <kind>', 'what it speaks: iso8583', { only: 'command' }),
        address: needed(TEXT, ...ADDRESS_OF_HOST),
        test: optional(FLAG, '--test', 'for test merchants; without it the link is live, and stays so'),
        tls: optional(FLAG, ...TLS),
        ...settings({ isNew: true }),
      },
      run: async ({ database, actor, means, settings }: WithKey, wish) =>
        addAcquirer(database, actor, await means.provider(), wish, settings.environment === 'production'),
      says: ({ name, mode, address }) => `Acquirer ${name} added, ${mode}, at ${address}.`,
    }),
    task({
      name: 'acquirer set',
      help: 'change a link; gateways finish what they have sent, and connect anew',
      role: 'administrator',
      scope: 'installation',
      route: 'POST /acquirers/:name',
      fresh: true,
      secondPerson: { for: 'links', when: isLive },
      input: {
        name: LINK,
        address: optional(TEXT, ...ADDRESS_OF_HOST),
        tls: optional(FLAG, ...TLS, { without: ['--no-tls', 'connect without TLS'] }),
        ...settings({ isNew: false }),
      },
      run: async ({ database, actor, means, settings }: WithKey, { name, ...change }) => {
        const inProduction = settings.environment === 'production';
        return setAcquirer(database, actor, await means.provider(), name, change, inProduction);
      },
      says: ({ name, address }) => `Acquirer ${name} changed; it is at ${address}.`,
    }),
    task({
      name: 'acquirer remove',
      help: 'remove a link that no merchant pays over, and where nothing is in doubt',
      role: 'administrator',
      scope: 'installation',
      route: 'POST /acquirers/:name/remove',
      fresh: true,
      secondPerson: { for: 'links', when: isLive },
      input: { name: LINK },
      run: ({ database, actor }, { name }) => removeAcquirer(database, actor, name),
      says: ({ name }) => `Acquirer ${name} removed.`,
    }),
    task({
      name: 'acquirer list',
      help: 'list the links, whether each is up, since when not, and why not',
      role: 'viewer',
      scope: 'installation',
      route: 'GET /acquirers',
      input: {},
      run: ({ database }) => listAcquirers(database),
    }),
    task({
      name: 'acquirer show',
      help: 'show a link, the check values of its MAC keys, who pays over it, and which gateways are signed on',
      role: 'viewer',
      scope: 'installation',
      route: 'GET /acquirers/:name',
      input: { name: LINK },
      run: async ({ database, means }: WithKey, { name }) =>
        showAcquirer(database, await means.provider(), name),
      says: ({ gateways, ...link }) =>
        `${lines(link)}\n\n${gateways.length === 0 ? 'No gateway runs.' : table(gateways)}`,
    }),
    task({
      name: 'acquirer unseen',
      help: 'list what a host had never seen when its reversal was acknowledged: look for these in the acquirer’s own books',
      role: 'viewer',
      scope: 'installation',
      input: { name: optional(TEXT, '[name]', 'the link (default: all of them)') },
      run: ({ database }, { name }) => unseenOrders(database, name),
    }),
    task({
      name: 'acquirer test',
      help: 'connect, sign on and echo, beside the gateways, and say how long it took',
      role: 'operator',
      scope: 'installation',
      route: 'POST /acquirers/:name/test',
      input: { name: LINK },
      run: async ({ database, actor, means }: WithKey, { name }) =>
        testAcquirer(database, actor, await means.provider(), name),
      says: ({ name, signOnMs, echoMs }) =>
        `Signed on to ${name} after ${signOnMs} ms; an echo took ${echoMs} ms.`,
    }),
  ],
} as const;
