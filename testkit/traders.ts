// Organisations beside the demo's, each with a merchant and a user: by the functions that commands use, since a process for each takes long.
import { readSettings } from '../src/gateway/settings/settings.js';
import { addMerchant } from '../src/organisations/merchants.js';
import { addOrganisation } from '../src/organisations/organisations.js';
import { addUser } from '../src/organisations/users/users.js';
import { Database } from '../src/postgres/database.js';
import { basicAuthorization } from './bodies.js';
import { credentialKeyOf } from './cast.js';
import type { Installation, InstalledDatabase } from './installation.js';

export interface Trader {
  readonly organisationId: number;
  readonly merchantId: number;
  readonly authorization: string;
}

const BY = 'operator:traders';

export async function addTraders(
  installation: Installation<InstalledDatabase>,
  count: number,
): Promise<Trader[]> {
  const settings = readSettings({ TOLLGATE_DATA_DIR: installation.dataDir });
  const database = new Database(installation.database.url, { maxConnections: 1, patient: true });
  try {
    const key = await credentialKeyOf(database, settings);
    const traders: Trader[] = [];
    for (let number = 1; number <= count; number += 1) {
      const { id: organisationId } = await addOrganisation(database, BY, `Shop ${number}`);
      const { id: merchantId } = await addMerchant(database, BY, organisationId, `Shop ${number}`, {});
      const user = await addUser(database, BY, key, `shop-${number}`, { merchant: merchantId });
      traders.push({ organisationId, merchantId, authorization: basicAuthorization(user) });
    }
    return traders;
  } finally {
    await database.close();
  }
}
