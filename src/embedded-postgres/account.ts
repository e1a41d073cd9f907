// Chooses the user that PostgreSQL runs as, because it refuses root, and starts its programs as that user.
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
  /** The directory of the binaries, readable by this account. */
  readonly binaries: string;
  /** The owner of the cluster's files; absent if that can only be the current user. */
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
  // Data of an ordinary user stays with that user: one command under sudo must not lock the owner out.
  if (dataDirOwner.uid !== 0 && users.some((user) => user.uid === dataDirOwner.uid)) {
    return { way: 'user', owner: dataDirOwner };
  }
  // An account of root without its powers could still read root's files, so another user is needed.
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

/**
 * The path under which programs find the cluster. Another user may not be able to walk the path, but can stay in the current directory.
 */
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

/** PostgreSQL must not see the keys and passwords in the gateway's environment, and PG… variables would change its behaviour. */
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
