// Links to acquirers, as the operator adds them, changes them, looks at them and tries them. This room owns their table.
import { type JournalAction, journal } from '../journal/journal.js';
import type { Database, Queryable } from '../postgres/database.js';
import type { Mode } from '../values/mode.js';
import { refuse } from '../values/refusal.js';
import { sydneyTimestamp } from '../values/time.js';
import type { KeyProvider } from '../vault/keys/key-provider.js';
import type { WrappedRows } from '../vault/keys/wrapped-rows.js';
import {
  type AcquirerChange,
  checkAcquirer,
  checkedMacKeys,
  DEFAULTS,
  hostOf,
  type NewAcquirer,
} from './acquirer-rules.js';
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
import { type AcquirerRow, lineOf, readAcquirer, readAcquirers } from './configured.js';
import { DEFAULT_DIALECT } from './iso8583/dialects/dialects.js';
import { macKeysContext, openMacs, wrapMacKeys } from './iso8583/mac-keys.js';
import { type Trial, tryHost } from './iso8583/trial.js';
import {
  conditionOf,
  type GatewayOfLink,
  gatewaysOf,
  type LinkCondition,
  runningGateways,
} from './running-gateways.js';

export interface AcquirerView {
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

export interface AcquirerDetails extends AcquirerView, LinkCondition {
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

export interface AcquirerTrial extends Trial {
  readonly name: string;
}

/** For the rotation of the key-encryption key. */
export const WRAPPED_MAC_KEYS: WrappedRows = {
  context: macKeysContext,
  all: ALL_MAC_KEYS,
  rewrap: REWRAP_MAC_KEYS,
};

export async function addAcquirer(
  database: Database,
  operator: string,
  provider: KeyProvider,
  wish: NewAcquirer,
): Promise<AcquirerView> {
  const { name, address, test = false } = wish;
  checkAcquirer({ ...wish, name });
  const row: AcquirerRow = await changed(provider, wish, {
    name,
    kind: 'iso8583',
    mode: test ? 'test' : 'live',
    version: 0,
    ...hostOf(address),
    tls: false,
    trusted: null,
    dialect: DEFAULT_DIALECT,
    ...DEFAULTS,
    institution: null,
    keyId: null,
    wrapped: null,
  });
  return database.transaction(async (connection) => {
    const values = [name, row.kind, row.mode, ...settingsOf(row)];
    const { rows } = await connection.query(ADD_ACQUIRER, values);
    if (rows.length === 0) refuse('acquirer_exists', { acquirer: name });
    await journalAcquirer(connection, operator, 'acquirer.added', row);
    return viewOf(row);
  });
}

export async function listAcquirers(database: Queryable): Promise<ListedAcquirer[]> {
  const [rows, running] = [await readAcquirers(database), await runningGateways(database)];
  return rows.map((row) => {
    const connected = gatewaysOf(row, running);
    const gatewaysSignedOn = connected.filter(({ signedOn }) => signedOn > 0).length;
    const gatewaysFailing = connected.filter(({ failingFor }) => failingFor > 0).length;
    return {
      ...viewOf(row),
      ...{ gateways: running.length, gatewaysSignedOn, gatewaysFailing },
      ...conditionOf(connected),
    };
  });
}

/** An order that its host had never seen when it acknowledged the reversal: worth a look when the books are compared. */
export interface UnseenOrder {
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
  _: string,
  provider: KeyProvider,
  name: string,
): Promise<AcquirerDetails> {
  const row = await found(database, name);
  const { keyId, wrapped } = row;
  const macs =
    keyId === null || wrapped === null ? undefined : await openMacs(provider, name, { keyId, wrapped });
  const gateways = gatewaysOf(row, await runningGateways(database));
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
): Promise<AcquirerView> {
  checkAcquirer(change);
  return database.transaction(async (connection) => {
    await connection.query(LOCK_ACQUIRER, [name]);
    const row = await changed(provider, change, await found(connection, name));
    await connection.query(SET_ACQUIRER, [name, ...settingsOf(row)]);
    const more = change.macKeys === undefined || change.macKeys === null ? [] : ['new MAC keys'];
    await journalAcquirer(connection, operator, 'acquirer.changed', row, more);
    return viewOf(row);
  });
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
    await journalAcquirer(connection, operator, 'acquirer.removed', row);
    return viewOf(row);
  });
}

/** Connects beside the gateways, signs on, echoes and signs off. */
export async function testAcquirer(
  database: Database,
  operator: string,
  provider: KeyProvider,
  name: string,
): Promise<AcquirerTrial> {
  const row = await found(database, name);
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
  // Whoever says which certificates to trust expects TLS, and would pay in clear.
  if (trusted != null && !(tls ?? row.tls)) {
    refuse('acquirer_not_allowed', { problems: [{ field: 'trusted', rule: 'is for a link with TLS' }] });
  }
  return {
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
  return [host, port, tls, trusted, dialect, connections, institution, deadlineMs, keyId, row.wrapped];
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
  more: readonly string[] = [],
): Promise<void> {
  const { name, mode, address, dialect, tls, mac } = viewOf(row);
  const how = [mode, address, dialect, ...(tls ? ['TLS'] : []), ...(mac ? ['MAC'] : []), ...more];
  return journal(connection, { actor, action, detail: `${name}: ${how.join(', ')}` });
}
