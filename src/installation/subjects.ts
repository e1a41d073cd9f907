// Every row that the journal seals: looked at one by one, sealed for the first time at an upgrade, and sealed as it is where an operator
// has put something right.
import { setImmediate as aTurn } from 'node:timers/promises';
import { readAcquirers, sealedAcquirer } from '../acquirers/configured.js';
import { findDirectEntry, sealedDirectEntry } from '../directdebit/direct-entry.js';
import { sealedFiles } from '../directdebit/files/files.js';
import { type JournalAction, journal } from '../journal/journal.js';
import {
  fitOf,
  type Misfit,
  newestVersion,
  type ReadRow,
  reportMisfit,
  type SealedRow,
  wasSealed,
} from '../journal/seals.js';
import { isSealedOperator, journalledOperator, type OperatorRow } from '../operators/operator.js';
import { LIST_OPERATORS } from '../operators/operators.sql.js';
import { findRules, sealedRules } from '../operators/second-person/rules.js';
import { sealedRequests } from '../operators/second-person/task-requests.js';
import { verifySessions } from '../operators/sessions.js';
import { findBrand, rowOfBrand } from '../organisations/brand.js';
import { readRoutes } from '../organisations/routing/routes.js';
import { rowOfMerchant, type SealedMerchant } from '../organisations/sealed-merchant.js';
import { rowOfOrganisation, type SealedOrganisation } from '../organisations/sealed-organisation.js';
import { type CredentialKey, journalledUser } from '../organisations/users/credentials.js';
import type { UserRow } from '../organisations/users/users.js';
import { LIST_USERS } from '../organisations/users/users.sql.js';
import { verifyRequests } from '../payments/requests/operator-request.js';
import { type Queryable, REPEATABLE_READ } from '../postgres/database.js';
import { sealedSchedules } from '../schedules/schedules.js';
import type { MerchantId, OrganisationId } from '../values/ids.js';
import { refuse } from '../values/refusal.js';
import { readWalletKeys, rowOfWalletKey } from '../wallets/wallet-keys.js';
import { readEndpoints, rowOfEndpoint } from '../webhooks/endpoints.js';
import {
  LOCK_SEALS,
  MERCHANTS_TO_LOOK_AT,
  MERCHANTS_WITH_BANK,
  MERCHANTS_WITH_BRAND,
  MERCHANTS_WITH_ROUTES,
  ORGANISATIONS_TO_LOOK_AT,
  SUBJECTS,
} from './subjects.sql.js';

interface FoundRow extends ReadRow {
  /** Of rows that are a merchant's. */
  readonly merchant?: MerchantId;
  /** Of users and operators, whose rows have a seal of their own that the journal seals: whether it is right. */
  readonly isRight?: boolean;
}

export interface SubjectProblem {
  readonly subject: string;
  readonly merchant: MerchantId | undefined;
  readonly problem: Misfit;
}

/** That what was there at an upgrade was sealed, once. */
const ALL: SealedRow = { subject: 'seals', state: ['made'] };
const PAGE = 500;
const ROWS_AT_A_TIME = 50;
const OF_MERCHANTS: readonly string[] = ['merchant', 'routes', 'bank', 'brand', 'wallet', 'file'];

/** What directs cards and money, and who may call: what whoever serves may read. */
const DIRECTIONS: readonly string[] = [
  'merchant',
  'routes',
  'bank',
  'webhook',
  'organisation',
  'acquirer',
  'user',
];

async function* directions(
  database: Queryable,
  key: CredentialKey,
  merchant?: number,
): AsyncGenerator<FoundRow> {
  yield* rowsOfMerchants(database, merchant);
  for (const endpoint of await readEndpoints(database, merchant))
    yield { ...rowOfEndpoint(endpoint), merchant: endpoint.merchantId };
  if (merchant !== undefined) return;
  yield* organisationsElsewhere(database);
  for (const row of await readAcquirers(database)) yield sealedAcquirer(row);
  const { rows: users } = await database.query<UserRow>(LIST_USERS, [null]);
  for (const row of users)
    yield { ...journalledUser(row), newest: row.newest, isRight: key.isSealed(row, row.seal) };
}

/** What of an organisation is sealed, without users: their seals are of the installation. For one that moves to another cell. */
export async function* sealedRowsOf(
  database: Queryable,
  merchants: readonly number[],
): AsyncGenerator<ReadRow> {
  for (const merchant of merchants) {
    yield* rowsOfMerchants(database, merchant);
    for (const endpoint of await readEndpoints(database, merchant)) yield rowOfEndpoint(endpoint);
    yield* sealedFiles(database, merchant);
    yield* sealedSchedules(database, merchant);
  }
}

/** Everything that is to be sealed, or what of it is a merchant's. */
async function* sealedRows(
  database: Queryable,
  key: CredentialKey,
  merchant?: number,
): AsyncGenerator<FoundRow> {
  yield* directions(database, key, merchant);
  yield* sealedFiles(database, merchant);
  yield* sealedSchedules(database, merchant);
  if (merchant !== undefined) return;
  const { rows: operators } = await database.query<OperatorRow>(LIST_OPERATORS);
  for (const row of operators)
    yield { ...journalledOperator(row), newest: row.newest, isRight: isSealedOperator(key, row, row.seal) };
  yield* sealedRequests(database);
  const rules = sealedRules(await findRules(database));
  if (rules.state !== null) yield rules;
}

async function* rowsOfMerchants(database: Queryable, only: number | undefined): AsyncGenerator<FoundRow> {
  for (let after = 0; ; ) {
    const { rows } = await database.query<SealedMerchant>(MERCHANTS_TO_LOOK_AT, [after, only ?? null, PAGE]);
    const last = rows.at(-1);
    if (last === undefined) break;
    for (const row of rows) yield { ...rowOfMerchant(row), merchant: row.id };
    after = last.id;
  }
  const { rows: routed } = await database.query<Owner>(MERCHANTS_WITH_ROUTES, [only ?? null]);
  for (const { organisationId, merchant } of routed)
    yield { ...(await readRoutes(database, organisationId, merchant)).row, merchant };
  const { rows: banked } = await database.query<Owner>(MERCHANTS_WITH_BANK, [only ?? null]);
  for (const { merchant } of banked)
    yield { ...sealedDirectEntry(await findDirectEntry(database, merchant)), merchant };
  const { rows: branded } = await database.query<Owner>(MERCHANTS_WITH_BRAND, [only ?? null]);
  for (const { merchant } of branded) yield { ...rowOfBrand(await findBrand(database, merchant)), merchant };
  for (const key of await readWalletKeys(database, only))
    yield { ...rowOfWalletKey(key), merchant: key.merchantId };
}

/** Those with a host name, and those that move or have moved. The others have no seal, and are looked at where they had one. */
async function* organisationsElsewhere(database: Queryable): AsyncGenerator<FoundRow> {
  for (let after = 0; ; ) {
    const { rows } = await database.query<SealedOrganisation>(ORGANISATIONS_TO_LOOK_AT, [after, PAGE]);
    const last = rows.at(-1);
    if (last === undefined) return;
    for (const row of rows) yield rowOfOrganisation(row);
    after = last.id;
  }
}

interface Owner {
  readonly organisationId: OrganisationId;
  readonly merchant: MerchantId;
}

interface Compared {
  readonly rows: number;
  readonly problems: readonly SubjectProblem[];
}

/** Rows that are not as they were sealed last, and those that are gone although the journal does not say so. */
export async function verifySubjects(
  database: Queryable,
  key: CredentialKey,
  merchant?: number,
): Promise<Compared> {
  return atOneMoment(database, async (connection) => {
    const isAsked = (subject: string) => isAbout(subject, merchant);
    const { rows, problems } = await compare(connection, sealedRows(connection, key, merchant), isAsked);
    const others = merchant === undefined ? await otherSeals(connection, key) : [];
    const wrong = others
      .filter(({ isRight }) => !isRight)
      .map(({ subject }) => ({ subject, merchant: undefined, problem: 'changed' as const }));
    return { rows: rows + others.length, problems: [...problems, ...wrong] };
  });
}

/** For a process that serves: reports what is changed or gone, also where nobody asks for it. */
export async function reportMisfits(database: Queryable, key: CredentialKey): Promise<void> {
  const { problems } = await atOneMoment(database, (connection) =>
    compare(connection, directions(connection, key), (subject) => DIRECTIONS.includes(kindOf(subject))),
  );
  // guard(directions: a gateway says what is changed or gone): await reportMisfit(database, subject, problem ⇒ void (subject + problem
  for (const { subject, problem } of problems) await reportMisfit(database, subject, problem);
}

/** An operator may change something meanwhile: a row and its seal are read as they were together. */
function atOneMoment<Result>(
  database: Queryable,
  work: (connection: Queryable) => Promise<Result>,
): Promise<Result> {
  return database.transaction(async (connection) => {
    await connection.query(REPEATABLE_READ);
    return work(connection);
  });
}

async function compare(
  connection: Queryable,
  rows: AsyncGenerator<FoundRow>,
  isAsked: (subject: string) => boolean,
): Promise<Compared> {
  const problems: SubjectProblem[] = [];
  const seen = new Set<string>();
  for await (const row of rows) {
    seen.add(row.subject);
    // Payments of this process go on in between.
    if (seen.size % ROWS_AT_A_TIME === 0) await aTurn();
    const fit = await fitOf(connection, row);
    const problem = fit.kind === 'misfit' ? fit.misfit : row.isRight === false ? 'changed' : undefined;
    if (problem !== undefined) problems.push({ subject: row.subject, merchant: row.merchant, problem });
  }
  for (let after = ''; ; ) {
    const page = (await connection.query<Omit<ReadRow, 'state'>>(SUBJECTS, [after, PAGE])).rows;
    const last = page.at(-1);
    if (last === undefined) return { rows: seen.size, problems };
    for (const { subject, newest } of page) {
      if (seen.has(subject) || subject === ALL.subject || !isAsked(subject)) continue;
      const fit = await fitOf(connection, { subject, state: null, newest });
      // guard(directions: a row that is gone is found): fit.kind === 'misfit' ⇒ fit.version < 0
      if (fit.kind === 'misfit')
        problems.push({ subject, merchant: merchantIn(subject), problem: fit.misfit });
    }
    after = last.subject;
  }
}

const kindOf = (subject: string) => subject.split('/')[0] as string;

/** Of subjects that say whose they are. */
function merchantIn(subject: string): MerchantId | undefined {
  const [kind, id] = subject.split('/');
  return OF_MERCHANTS.includes(kind as string) ? (Number(id) as MerchantId) : undefined;
}

/** Of rows with a seal of their own alone. */
async function otherSeals(database: Queryable, key: CredentialKey) {
  return [...(await verifySessions(database, key)), ...(await verifyRequests(database, key))];
}

/** Endpoints that are gone do not tell whose they were. */
function isAbout(subject: string, merchant: number | undefined): boolean {
  return merchant === undefined || merchantIn(subject) === merchant;
}

/** A sealed entry of the journal says so: no flag that a writer could clear. */
export function areRowsSealed(database: Queryable): Promise<boolean> {
  return wasSealed(database, ALL.subject);
}

/** Seals what is there, once: at the first start or migration with a release that does so. Undefined if that was done before. */
export async function sealWhatIsThere(
  database: Queryable,
  actor: string,
  key: CredentialKey,
): Promise<number | undefined> {
  if (await areRowsSealed(database)) return undefined;
  return database.transaction(async (connection) => {
    await connection.query(LOCK_SEALS);
    // guard(directions: what is there is sealed once): if (await areRowsSealed(connection)) return undefined; ⇒
    if (await areRowsSealed(connection)) return undefined;
    let count = 0;
    for await (const row of sealedRows(connection, key)) {
      if (row.newest !== null || row.isRight === false) continue;
      await journal(connection, entry(actor, 'seals.made', row.subject), row);
      count += 1;
    }
    await journal(connection, entry(actor, 'seals.made', `${count} rows that were there`), ALL);
    return count;
  });
}

/**
 * As it is now, or that it is gone. Not for users and operators, whose rights would come back: they are given new secrets or removed. Nor
 * for what needs a second person: rules are set again, and requests refused. Nor for organisations: one that has moved would pay in two
 * cells.
 */
export async function sealAsItIs(
  database: Queryable,
  operator: string,
  key: CredentialKey,
  subject: string,
): Promise<{ readonly subject: string; readonly isThere: boolean }> {
  // guard(directions: nobody seals rights or approvals as they are): ['organisation', 'user', 'operator', 'approval', 'request', ALL.subject] ⇒ [ALL.subject]
  if (['organisation', 'user', 'operator', 'approval', 'request', ALL.subject].includes(kindOf(subject)))
    refuse('subject_not_sealable', { subject });
  return database.transaction(async (connection) => {
    await connection.query(LOCK_SEALS);
    let found: SealedRow | undefined;
    for await (const row of sealedRows(connection, key)) if (row.subject === subject) found = row;
    if (found === undefined && (await newestVersion(connection, subject)) === 0)
      refuse('subject_not_found', { subject });
    const state = found?.state ?? null;
    const isThere = state !== null;
    const detail = isThere ? subject : `${subject}, which is gone`;
    await journal(connection, entry(operator, 'seal.renewed', detail), { subject, state });
    return { subject, isThere };
  });
}

function entry(actor: string, action: JournalAction, detail: string) {
  return { actor, action, detail };
}
