// The users that a test calls its gateway as, with merchants of two organisations.
import { credentialKey, journalKey } from '../src/gateway/callers.js';
import { openKeyProvider } from '../src/gateway/settings/key-encryption.js';
import { readSettings, type Settings } from '../src/gateway/settings/settings.js';
import { sealAsItIs, verifySubjects } from '../src/installation/subjects.js';
import { EntrySigner, setSigner } from '../src/journal/entry-signer.js';
import { addMerchant } from '../src/organisations/merchants.js';
import { addOrganisation } from '../src/organisations/organisations.js';
import { journalOrganisation } from '../src/organisations/sealed-organisation.js';
import type { CredentialKey } from '../src/organisations/users/credentials.js';
import { addUser } from '../src/organisations/users/users.js';
import { Database } from '../src/postgres/database.js';
import { dataDirectory } from './gateway-process.js';

/** Merchants 1 and 2 (vault) and 3 (no vault) of one organisation, merchant 4 of another. */
export interface Cast {
  /** Assigned to merchant 1, granted 2 and 3. */
  readonly owner: Credentials;
  /** Of the same organisation; assigned to merchant 2 and granted nothing. */
  readonly colleague: Credentials;
  /** Of another organisation; assigned to merchant 4. */
  readonly stranger: Credentials;
}

export interface Credentials {
  readonly username: string;
  readonly password: string;
}

/** Adds the cast for a gateway with these settings: its users are sealed under its key-encryption key. */
export async function addCast(databaseUrl: string, settings?: Settings): Promise<Cast> {
  const database = new Database(databaseUrl, { maxConnections: 1 });
  const key = await credentialKeyOf(database, settings);
  try {
    const ours = await addOrganisation(database, 'operator:test', 'Ours');
    for (const vault of [true, true, false])
      await addMerchant(database, 'operator:test', ours.id, 'Ours', { vault });
    const theirs = await addOrganisation(database, 'operator:test', 'Theirs');
    await addMerchant(database, 'operator:test', theirs.id, 'Theirs', { vault: true });
    return {
      owner: await addUser(database, 'operator:test', key, 'owner', { merchant: 1, grants: [2, 3] }),
      colleague: await addUser(database, 'operator:test', key, 'colleague', { merchant: 2 }),
      stranger: await addUser(database, 'operator:test', key, 'stranger', { merchant: 4 }),
    };
  } finally {
    await database.close();
  }
}

/** As operators' commands open it: what they change is signed and sealed with the key of this gateway's journal. */
export function operatorsDatabase(
  { databaseUrl, dataDir }: { readonly databaseUrl: string; readonly dataDir: string },
  maxConnections = 1,
): Database {
  const database = new Database(databaseUrl, { maxConnections });
  // On a session of its own: the first entry may be written in a transaction that has the only one.
  setSigner(database, async () => {
    const opening = new Database(databaseUrl, { maxConnections: 1 });
    try {
      const settings = readSettings({ TOLLGATE_DATA_DIR: dataDir });
      return new EntrySigner(await journalKey(opening, await openKeyProvider(settings, opening)));
    } finally {
      await opening.close();
    }
  });
  return database;
}

/** Whatever was changed by SQL is sealed as it is now. */
export async function sealAll(gateway: {
  readonly databaseUrl: string;
  readonly settings: Settings;
}): Promise<void> {
  const database = new Database(gateway.databaseUrl, { maxConnections: 2 });
  try {
    const key = await credentialKeyOf(database, gateway.settings);
    for (const { subject } of (await verifySubjects(database, key)).problems) {
      const [kind, id] = subject.split('/');
      if (kind === 'organisation')
        await journalOrganisation(database, { actor: 'operator:test', action: 'seal.renewed' }, Number(id));
      else await sealAsItIs(database, 'operator:test', key, subject);
    }
  } finally {
    await database.close();
  }
}

/** The key that the users of this database are sealed under, by the settings of its gateway. */
export async function credentialKeyOf(database: Database, settings?: Settings): Promise<CredentialKey> {
  const own = settings ?? readSettings({ TOLLGATE_DATA_DIR: await dataDirectory() });
  const provider = await openKeyProvider(own, database);
  setSigner(database, new EntrySigner(await journalKey(database, provider)));
  return credentialKey(database, provider);
}
