// The checks that a gateway for real payments must pass. Reports every problem at once, each in a line that says what to do.
import { url as debuggerAddress } from 'node:inspector';
import { DEMO_ORGANISATION, DEMO_USERNAME } from '../../demo/organisation.js';
import { Database } from '../../postgres/database.js';
import { isLoopback } from '../../values/network.js';
import { loginsOf, problemsOfEncryption, unusable } from '../database/connection.js';
import { DEMO_USER, LOGIN } from './production.sql.js';
import { MOST_IDLE_MINUTES, type Settings, SettingsError } from './settings.js';

/** The database is still empty. */
const NO_SUCH_TABLE = '42P01';

/** Runs before anything is created or changed. */
export async function checkProduction(settings: Settings, userId = process.getuid?.()): Promise<void> {
  if (settings.environment !== 'production') return;
  const unencrypted = problemsOfEncryption(settings);
  const problems = [...problemsOfSettings(settings, userId), ...unencrypted];
  try {
    // A password is never sent over an unencrypted connection.
    if (unencrypted.length === 0) problems.push(...(await problemsOfDatabase(settings)));
  } catch (error) {
    const unusableBecause = unusable(error);
    if (problems.length === 0) throw unusableBecause;
    problems.push(unusableBecause.message);
  }
  if (problems.length > 0) throw new SettingsError(problems.join('\n'));
}

/** Independent of the database. */
export function problemsOfSettings(
  {
    demo,
    databaseUrl,
    keyEncryption,
    host,
    console: operators,
    sessionIdleMs,
    tls,
    crashAt,
    journalAnchors,
  }: Settings,
  userId: number | undefined,
): string[] {
  const rules: readonly [wrong: boolean, line: string][] = [
    [demo, 'TOLLGATE_DEMO: the demo has no place in production; set it to false'],
    [
      databaseUrl === undefined,
      'DATABASE_URL: the PostgreSQL that comes with the gateway keeps its data beside the gateway and has no standby, which production does not allow; set it to a server of your own',
    ],
    [
      keyEncryption.provider === 'file',
      'TOLLGATE_KEY_PROVIDER: a key file beside the data protects nothing; set it to environment or vault-transit',
    ],
    [
      // guard(production: the journal is anchored outside of the database): journalAnchors.length === 0 ⇒ false
      journalAnchors.length === 0,
      'TOLLGATE_JOURNAL_ANCHOR: whoever can write to the database could cut off the end of the journal; set it to where its end is kept, such as syslog or https://collector.example',
    ],
    [userId === 0, 'the gateway runs as root; start it as a user that owns nothing else'],
    [crashAt !== undefined, 'TOLLGATE_CRASH_AT is for tests; unset it'],
    [
      debuggerAddress() !== undefined,
      'a debugger is open, by which anybody on this machine can read card numbers; start without --inspect',
    ],
    [
      // guard(production: no listener outside loopback without TLS): tls === undefined && !isLoopback(host) ⇒ false
      tls === undefined && !isLoopback(host),
      `TOLLGATE_HOST: card numbers would come to ${host} without TLS; set TOLLGATE_TLS_CERTIFICATE_FILE and TOLLGATE_TLS_KEY_FILE, or listen on 127.0.0.1 and put a proxy that speaks TLS in front`,
    ],
    [
      tls === undefined && operators !== undefined && !isLoopback(operators.host),
      `TOLLGATE_CONSOLE_HOST: the token of whoever scrapes would come to ${operators?.host} without TLS; set TOLLGATE_TLS_CERTIFICATE_FILE and TOLLGATE_TLS_KEY_FILE, or leave it on 127.0.0.1`,
    ],
    [
      // guard(production: no session of an operator goes on for long without activity): sessionIdleMs > MOST_IDLE_MINUTES * 60_000 ⇒ false
      sessionIdleMs > MOST_IDLE_MINUTES * 60_000,
      `TOLLGATE_CONSOLE_IDLE_MINUTES: a session that nobody uses must end after ${MOST_IDLE_MINUTES} minutes at most; set it to ${MOST_IDLE_MINUTES} or less`,
    ],
  ];
  return rules.filter(([wrong]) => wrong).map(([, line]) => line);
}

/** For every login, the serving one first. Only migrations need a login that owns the tables. */
async function problemsOfDatabase(settings: Settings): Promise<string[]> {
  const { databaseUrl } = settings;
  if (databaseUrl === undefined) return [];
  const { serving, operating, migrating } = loginsOf(settings, databaseUrl);
  const problems = await problemsOfLogin(serving, 'DATABASE_URL', 'tollgate_application');
  if (operating !== serving)
    problems.push(
      ...(await problemsOfLogin(operating, 'TOLLGATE_OPERATING_DATABASE_URL', 'tollgate_operator')),
    );
  if (migrating !== serving && migrating !== operating)
    problems.push(...(await problemsOfLogin(migrating, 'TOLLGATE_MIGRATING_DATABASE_URL')));
  return [...new Set(problems)];
}

/** `role`: the only role that the login should have. Absent: it may own the tables. */
async function problemsOfLogin(databaseUrl: string, setting: string, role?: string): Promise<string[]> {
  const database = new Database(databaseUrl, { maxConnections: 1 });
  try {
    const { rows } = await database.query<{ login: string; superuser: boolean; owner: boolean }>(LOGIN);
    const problems = rows.flatMap(({ login, superuser, owner }) => {
      if (superuser)
        return [
          `${setting}: ${login} is a superuser; make a role that owns the database and nothing else, and log in as that`,
        ];
      // guard(production: no login that serves or operates owns the tables): if (!owner || role === undefined) return []; ⇒ return [];
      if (!owner || role === undefined) return [];
      return [
        `${setting}: ${login} owns the tables, and could change the journal and every rule; set it to a login whose only role is ${role}, and TOLLGATE_MIGRATING_DATABASE_URL to ${login}`,
      ];
    });
    if (await hasDemo(database))
      problems.push(
        `the database has the demo's user, whose secret lies in a file; run \`tollgate user revoke ${DEMO_USERNAME}\``,
      );
    return problems;
  } finally {
    await database.close();
  }
}

async function hasDemo(database: Database): Promise<boolean> {
  try {
    return (await database.query(DEMO_USER, [DEMO_USERNAME, DEMO_ORGANISATION])).count > 0;
  } catch (error) {
    if ((error as { code?: string }).code === NO_SUCH_TABLE) return false;
    throw error;
  }
}
