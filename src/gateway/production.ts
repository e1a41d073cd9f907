// What a gateway for real payments must not be started with. Every problem at once, each in a line that says what to do.
import { Database } from '../postgres/database.js';
import { reasonOf } from './connection.js';
import { DEMO_ORGANISATION, DEMO_USERNAME } from './demo.js';
import { DEMO_USER, LOGIN } from './production.sql.js';
import { type Settings, SettingsError } from './settings.js';

/** The database is empty yet. */
const NO_SUCH_TABLE = '42P01';

/** Nothing is made or changed before this has been asked. */
export async function checkProduction(settings: Settings, userId = process.getuid?.()): Promise<void> {
  if (settings.environment !== 'production') return;
  const problems = problemsOfSettings(settings, userId);
  try {
    problems.push(...(await problemsOfDatabase(settings)));
  } catch (error) {
    problems.push(`DATABASE_URL: the database cannot be used (${reasonOf(error)})`);
  }
  if (problems.length > 0) throw new SettingsError(problems.join('\n'));
}

function problemsOfSettings(
  { demo, databaseUrl, keyEncryption, host, crashAt }: Settings,
  userId: number | undefined,
): string[] {
  const rules: readonly [wrong: boolean, line: string][] = [
    [demo, 'TOLLGATE_DEMO: the demo has no place in production; set it to false'],
    [
      databaseUrl === undefined,
      'DATABASE_URL: the PostgreSQL that comes with the gateway is used as its superuser, which production does not allow; set it to a server of your own',
    ],
    [
      keyEncryption.provider === 'file',
      'TOLLGATE_KEY_PROVIDER: a key file beside the data protects nothing; set it to environment or vault-transit',
    ],
    [userId === 0, 'the gateway runs as root; start it as a user that owns nothing else'],
    [crashAt !== undefined, 'TOLLGATE_CRASH_AT is for tests; unset it'],
    [
      !isLoopback(host),
      `TOLLGATE_HOST: card numbers would come to ${host} without TLS; listen on 127.0.0.1 and put a proxy that speaks TLS in front`,
    ],
  ];
  return rules.filter(([wrong]) => wrong).map(([, line]) => line);
}

async function problemsOfDatabase({ databaseUrl }: Settings): Promise<string[]> {
  if (databaseUrl === undefined) return [];
  const database = new Database(databaseUrl, { maxConnections: 1 });
  try {
    const { rows } = await database.query<{ login: string; superuser: boolean }>(LOGIN);
    const superusers = rows.filter(({ superuser }) => superuser);
    return [
      ...superusers.map(
        ({ login }) =>
          `DATABASE_URL: ${login} is a superuser; make a role that owns the database and nothing else, and log in as that`,
      ),
      ...((await hasDemo(database))
        ? [
            `the database has the demo's user, whose secret lies in a file; run \`tollgate user revoke ${DEMO_USERNAME}\``,
          ]
        : []),
    ];
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

function isLoopback(host: string): boolean {
  return /^(localhost|127\.\d+\.\d+\.\d+|::1|\[::1\])$/i.test(host);
}
