// The logins of the embedded PostgreSQL: the owner of the tables, the gateway and operators, none of them a superuser. The superuser
// creates them, and does nothing else with the data.
import { createHmac } from 'node:crypto';
import { plainClient } from '../postgres/client.js';
import { USER } from './files.js';
import { FIND_LOGINS, JOIN_GROUPS, OPERATING, SERVING, TO_MAKE_LOGIN } from './roles.sql.js';
import { DATABASE, FIND_DATABASE, MAKE_DATABASE, OWNER } from './server.sql.js';

/** Database URLs by purpose. */
export interface Logins {
  readonly migrating: string;
  readonly serving: string;
  readonly operating: string;
}

/** Each login has a password of its own, from which the superuser's cannot be derived. */
function passwordOf(login: string, superuser: string): string {
  return createHmac('sha256', superuser).update(login).digest('hex').slice(0, 48);
}

export function loginsAt(port: number, superuser: string): Logins {
  const url = (login: string) =>
    `postgres://${login}:${passwordOf(login, superuser)}@127.0.0.1:${port}/${DATABASE}`;
  return { migrating: url(OWNER), serving: url(SERVING), operating: url(OPERATING) };
}

/** Creates the roles, and the database that one of them owns. */
export async function makeRoles(port: number, superuser: string): Promise<void> {
  const host = '127.0.0.1';
  const client = plainClient({ host, port, user: USER, password: superuser, database: 'postgres' });
  try {
    await client.connect();
    const names = [OWNER, SERVING, OPERATING];
    const { rows } = await client.query<{ name: string }>(FIND_LOGINS, [names]);
    const missing = names.filter((name) => !rows.some((row) => row.name === name));
    for (const name of missing) {
      const values = [name, passwordOf(name, superuser)];
      const making = await client.query<{ statement: string }>(TO_MAKE_LOGIN, values);
      await client.query(making.rows[0]?.statement ?? '');
    }
    if (missing.length > 0) await client.query(JOIN_GROUPS);
    const found = await client.query(FIND_DATABASE);
    if (found.rowCount === 0) await client.query(MAKE_DATABASE);
  } finally {
    await client.end().catch(() => {});
  }
}
