// What directs an organisation's cards and money, and who may call for it: checked under the seals of the source, and sealed anew at the
// destination. Users keep their secrets: the key under which they are known goes along.
import { journal } from '../../journal/journal.js';
import { fitOf } from '../../journal/seals.js';
import {
  type CredentialKey,
  journalledUser,
  type SealedUser,
} from '../../organisations/users/credentials.js';
import type { UserRow } from '../../organisations/users/users.js';
import { LIST_USERS } from '../../organisations/users/users.sql.js';
import type { Queryable } from '../../postgres/database.js';
import type { OrganisationId } from '../../values/ids.js';
import {
  type InstallationKeyName,
  keepInstallationKey,
  openInstallationKey,
} from '../../vault/keys/installation-keys.js';
import type { KeyProvider } from '../../vault/keys/key-provider.js';
import { dataKeyContext } from '../../vault/keys/keys.js';
import { sealedRowsOf } from '../subjects.js';
import { bytea, withMembers } from './copying.js';
import { DATA_KEYS, PUT_DATA_KEY, REMOVE_OTHER_DATA_KEYS, SUBJECTS_BEFORE, USERS } from './moves.sql.js';

export interface SealingCell {
  readonly database: Queryable;
  readonly provider: KeyProvider;
  readonly key: CredentialKey;
  readonly installation: string;
}

type OnBroken = (what: string) => void;

interface DataKeyRow {
  readonly merchantId: SealedUser['assignedMerchantId'];
  readonly version: number;
  readonly keyId: string;
  readonly wrapped: Buffer;
  readonly createdAt: string;
  readonly emptiedAt: string | null;
}

/** Of every version, wrapped by the key-encryption key of the destination: whatever it has sealed opens there unchanged. */
export async function copyDataKeys(
  organisation: OrganisationId,
  source: Pick<SealingCell, 'database' | 'provider'>,
  { provider }: Pick<SealingCell, 'provider'>,
  connection: Queryable,
): Promise<readonly DataKeyRow[]> {
  const { rows } = await source.database.query<DataKeyRow>(DATA_KEYS, [organisation]);
  for (const { merchantId, version, keyId, wrapped, createdAt, emptiedAt } of rows) {
    const context = dataKeyContext(organisation, merchantId, version);
    const key = await source.provider.unwrap({ keyId, wrapped }, context);
    const here = await provider.wrap(key, context);
    key.fill(0);
    const values = [organisation, merchantId, version, here.keyId, here.wrapped, createdAt, emptiedAt];
    await connection.query(PUT_DATA_KEY, values);
  }
  return rows;
}

/** Versions that the source has destroyed. What they had sealed is gone by then. */
export async function removeDestroyedKeys(
  organisation: OrganisationId,
  keys: readonly DataKeyRow[],
  connection: Queryable,
): Promise<void> {
  for (const merchant of new Set(keys.map(({ merchantId }) => merchantId))) {
    const versions = keys.filter(({ merchantId }) => merchantId === merchant).map(({ version }) => version);
    await connection.query(REMOVE_OTHER_DATA_KEYS, [organisation, merchant, versions]);
  }
}

/** The rows of users for the destination, as JSON. */
export async function movedUsers(
  organisation: OrganisationId,
  source: SealingCell,
  destination: SealingCell,
  onBroken: OnBroken,
): Promise<string> {
  const { rows: texts } = await source.database.query<{ username: string; row: string }>(USERS, [
    organisation,
  ]);
  const { rows: users } = await source.database.query<UserRow>(LIST_USERS, [organisation]);
  const byName = new Map(users.map((user) => [user.username, user]));
  const senders = new Set<string>();
  const moved: string[] = [];
  for (const { username, row } of texts) {
    const user = byName.get(username);
    const fit = user && (await fitOf(source.database, { ...journalledUser(user), newest: user.newest }));
    // guard(moving: a user that was changed does not become genuine): fit?.kind !== 'fits' || !source.key.isSealed(user, user.seal) ⇒ fit === undefined
    if (user === undefined || fit?.kind !== 'fits' || !source.key.isSealed(user, user.seal)) {
      onBroken(`user/${username}`);
      moved.push(withMembers(row, { seal: null }));
      continue;
    }
    const from = (tag: Buffer | null, before: string | null) => {
      const installation = before ?? source.installation;
      if (tag === null || installation === destination.installation) return null;
      senders.add(installation);
      return installation;
    };
    const secretFrom = from(user.secretTag, user.secretFrom);
    const previousSecretFrom = from(user.previousSecretTag, user.previousSecretFrom);
    const seal = destination.key.sealOf({ ...user, secretFrom, previousSecretFrom });
    moved.push(
      withMembers(row, {
        secret_from: secretFrom,
        previous_secret_from: previousSecretFrom,
        seal: bytea(seal),
      }),
    );
  }
  for (const installation of senders) {
    const kept: InstallationKeyName = `credentials of ${installation}`;
    const name = installation === source.installation ? 'credentials' : kept;
    const key = await openInstallationKey(source.database, source.provider, name);
    await keepInstallationKey(destination.database, destination.provider, kept, key);
    key.fill(0);
  }
  return `[${moved.join(',')}]`;
}

/** Subjects of rows that are here already, or still. */
export async function subjectsHere(connection: Queryable, organisation: number): Promise<readonly string[]> {
  const { rows } = await connection.query<{ subject: string }>(SUBJECTS_BEFORE, [organisation]);
  return rows.map(({ subject }) => subject);
}

/** Those of the source that are not as they were sealed. */
export async function brokenAtSource(
  source: Queryable,
  merchants: readonly number[],
  onBroken: OnBroken,
): Promise<ReadonlySet<string>> {
  const broken = new Set<string>();
  for await (const row of sealedRowsOf(source, merchants)) {
    // guard(moving: a row that was changed does not become genuine): (await fitOf(source, row)).kind === 'fits' ⇒ true
    if ((await fitOf(source, row)).kind === 'fits') continue;
    onBroken(row.subject);
    broken.add(row.subject);
  }
  return broken;
}

interface Sealing {
  readonly organisation: OrganisationId;
  readonly merchants: readonly number[];
  readonly actor: string;
  readonly broken: ReadonlySet<string>;
  /** What was here before the rows came. */
  readonly before: readonly string[];
}

/** Seals the rows that have come, and says of those that have gone that they are. In the transaction that brings them. */
export async function sealWhatCame(
  connection: Queryable,
  { organisation, merchants, actor, broken, before }: Sealing,
): Promise<void> {
  const entry = { actor, action: 'seals.made', organisationId: organisation } as const;
  const there = new Set<string>();
  const { rows: users } = await connection.query<UserRow>(LIST_USERS, [organisation]);
  const rows = users
    .filter(({ seal }) => seal !== null)
    .map((user) => ({ ...journalledUser(user), newest: user.newest }));
  for await (const row of sealedRowsOf(connection, merchants)) rows.push(row);
  for (const row of rows) {
    there.add(row.subject);
    if (broken.has(row.subject) || (await fitOf(connection, row)).kind === 'fits') continue;
    await journal(connection, { ...entry, detail: row.subject }, row);
  }
  for (const { username } of users) there.add(`user/${username}`);
  for (const subject of before)
    if (!there.has(subject))
      await journal(connection, { ...entry, detail: `${subject}, which is gone` }, { subject, state: null });
}
