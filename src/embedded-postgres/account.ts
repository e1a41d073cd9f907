// Decides as whom PostgreSQL runs, since it refuses root, and starts its programs that way.
import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Binaries, readableCopies } from './binaries.js';
import { EmbeddedPostgresError } from './error.js';

export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

export interface Account {
  /** The directory of the binaries, readable for this account. */
  readonly binaries: string;
  /** Whom the cluster's files must belong to; absent where only our own user comes into question. */
  readonly owner?: Owner;
  readonly way: 'plain' | 'user';
}

type Way = Pick<Account, 'owner' | 'way'>;

export const isRoot = process.getuid?.() === 0;

export async function chooseAccount(binaries: Binaries, dataDirOwner: Owner): Promise<Account> {
  const way = isRoot ? await wayForRoot(dataDirOwner) : ({ way: 'plain' } as const);
  const original = { ...way, binaries: binaries.directory };
  const refusal = await refusalToRun(original);
  if (refusal === undefined) return original;
  if (isRoot) {
    for await (const copy of readableCopies(binaries)) {
      const account = { ...way, binaries: copy };
      if ((await refusalToRun(account)) === undefined) return account;
    }
  }
  throw new EmbeddedPostgresError(
    `The PostgreSQL binaries in ${binaries.directory} do not run here (${refusal}): set DATABASE_URL to a PostgreSQL 15 or later`,
  );
}

async function wayForRoot(dataDirOwner: Owner): Promise<Way> {
  if (process.platform !== 'linux') {
    throw new EmbeddedPostgresError(
      'PostgreSQL does not run as root: start Tollgate as an ordinary user, or set DATABASE_URL',
    );
  }
  const users = await knownUsers();
  // An ordinary user's data stays that user's: one command under sudo must not lock the owner out.
  if (dataDirOwner.uid !== 0 && users.some((user) => user.uid === dataDirOwner.uid)) {
    return { way: 'user', owner: dataDirOwner };
  }
  // Whoever could run as root, even without its powers, could read root's files.
  const user = users.find(({ name }) => name === 'postgres') ?? users.find(({ name }) => name === 'nobody');
  if (user === undefined) {
    throw new EmbeddedPostgresError(
      'PostgreSQL does not run as root and there is no user "postgres" or "nobody" to run it as: add one, or set DATABASE_URL',
    );
  }
  return { way: 'user', owner: { uid: user.uid, gid: user.gid } };
}

async function knownUsers(): Promise<(Owner & { name: string })[]> {
  const lines = (await readFile('/etc/passwd', 'utf8').catch(() => '')).split('\n');
  return lines.flatMap((line) => {
    const [name, , uid, gid] = line.split(':');
    return name && uid && gid ? [{ name, uid: Number(uid), gid: Number(gid) }] : [];
  });
}

async function refusalToRun(account: Account): Promise<string | undefined> {
  const { code, output } = await run(spawnAs(account, 'postgres', ['--version'], '/', 'pipe'));
  return code === 0 ? undefined : output.trim().split('\n').at(-1) || `exit code ${code}`;
}

/** How the programs are told the cluster: root's ways may not be able to walk the path to it, but may stay where they are put. */
export function clusterPathFor(account: Account, cluster: string): string {
  return account.way === 'plain' ? cluster : '/proc/self/cwd';
}

export function spawnAs(
  account: Account,
  program: 'initdb' | 'postgres' | 'pg_ctl',
  args: readonly string[],
  cwd: string,
  stdio: StdioOptions,
  detached = false,
): ChildProcess {
  const file = join(account.binaries, 'bin', program);
  const user = account.way === 'user' ? account.owner : undefined;
  return spawn(file, [...args], {
    cwd,
    stdio,
    detached,
    env: bareEnvironment(),
    windowsHide: true,
    ...user,
  });
}

/** Keys and passwords of the gateway's environment are none of PostgreSQL's business, and PG… variables would change its behaviour. */
function bareEnvironment(): NodeJS.ProcessEnv {
  const kept = ['PATH', 'TMPDIR', 'TEMP', 'TMP', 'SystemRoot'];
  const entries = kept.flatMap((name) =>
    process.env[name] === undefined ? [] : [[name, process.env[name]]],
  );
  return { ...Object.fromEntries(entries), LC_ALL: 'C' };
}

export async function run(child: ChildProcess): Promise<{ code: number | null; output: string }> {
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  return new Promise((resolve) => {
    child.on('error', (error) => resolve({ code: null, output: error.message }));
    child.on('close', (code) => resolve({ code, output }));
  });
}
