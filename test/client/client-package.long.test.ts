// The package as somebody gets it: packed, and unpacked into an empty folder, it runs and has types.
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { packed } from '../../testkit/packages.js';
import { PROJECT_ROOT } from '../../testkit/project.js';
import { read } from '../../testkit/project-files.js';

const run = promisify(execFile);
// Windows' npm is a script of its shell.
const shell = process.platform === 'win32';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tollgate-package-'));
  const { tarball } = await packed('client', folder);
  const home = join(folder, 'project');
  await mkdir(home);
  await writeFile(join(home, 'package.json'), JSON.stringify({ name: 'project', type: 'module' }));
  const install = ['install', '--offline', '--no-audit', '--no-fund', tarball];
  await run('npm', install, { cwd: home, shell });
});
afterAll(() => rm(folder, { recursive: true }));

describe('from the tarball alone', () => {
  test('it holds the compiled files, their types, the licence and how to use it, and nothing else', async () => {
    const inside = join(folder, 'project', 'node_modules', 'tollgate-client');
    expect((await readdir(inside)).sort()).toEqual(['LICENSE', 'README.md', 'dist', 'package.json']);
    const files = await readdir(join(inside, 'dist'));
    expect(files).toContain('index.js');
    expect(files.filter((name) => !/^[\w-]+\.(js|d\.ts)$/.test(name))).toEqual([]);
    expect(await readdir(join(folder, 'project', 'node_modules'))).toEqual(
      expect.not.arrayContaining(['typescript']),
    );
  });

  test('it runs: creates a client and verifies a webhook', async () => {
    const program = join(folder, 'project', 'program.js');
    await writeFile(
      program,
      `import { Tollgate, verifyWebhook, WebhookRejected } from 'tollgate-client';
       const answer = { results: [], _links: { first: { href: '/v1/customers' } } };
       const tollgate = new Tollgate({
         baseUrl: 'https://payments.example/v1', username: 'a', password: 'b', fetch: async () => Response.json(answer),
       });
       for await (const customer of tollgate.customers.list()) throw customer;
       const rejected = await verifyWebhook({ body: '', headers: {}, secret: 'whsec_AAAA' }).catch((error) => error);
       console.log(rejected instanceof WebhookRejected, rejected.reason);`,
    );
    const { stdout } = await run(process.execPath, [program]);
    expect(stdout.trim()).toBe('true header_missing');
  });

  test('its types resolve under nodenext, for a strict compiler that checks libraries too', async () => {
    const home = join(folder, 'project');
    const program = `import { OutcomeUnknown, Refused, Tollgate, type Created, type Memory } from 'tollgate-client';
      const memory: Memory = { begin() {}, end() {}, open: () => [] };
      const tollgate = new Tollgate({ baseUrl: '', username: '', password: '', memory });
      export async function pay(pan: string): Promise<Created['outcome'] | undefined> {
        try {
          const paid = await tollgate.purchase({
            merchant: { id: 1 },
            transaction: {
              reference: 'order-1',
              amount_details: { total_amount: '1995', currency: 'AUD' },
              payment_method: { creditcard: { pan, expiry_date: '1230' } },
            },
          });
          // @ts-expect-error: there is no such outcome
          if (paid.outcome === 'unknown') return undefined;
          const status: string = paid.status.transaction_status_code;
          return status === 'of tomorrow' ? undefined : paid.outcome;
        } catch (error) {
          if (error instanceof Refused) console.log(error.problems[0]?.location.join());
          if (error instanceof OutcomeUnknown) console.log(error.correlationId);
          throw error;
        }
      }
      // @ts-expect-error: an amount is text
      void tollgate.refund(1, { merchant: { id: 1 }, transaction: { reference: '', amount_details: { total_amount: 1, currency: '' } } });
      for await (const transaction of tollgate.history({ status: 'approved' })) console.log(transaction.type);
      for await (const { next } of tollgate.events({ wait: 0 }).pages()) console.log(next?.length);`;
    await writeFile(join(home, 'program.ts'), program);
    const compilerOptions = {
      strict: true,
      exactOptionalPropertyTypes: true,
      module: 'nodenext',
      moduleResolution: 'nodenext',
      target: 'es2022',
      lib: ['es2022', 'dom'],
      types: [],
      noEmit: true,
      skipLibCheck: false,
    };
    await writeFile(join(home, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['program.ts'] }));
    expect(await compiled(home)).toBe('');
  });

  test('the samples of docs/shop.md → one program that compiles', async () => {
    const home = join(folder, 'project');
    const samples = [...read('docs/shop.md').matchAll(/^```ts\n([\s\S]*?)^```$/gm)];
    expect(samples.length).toBeGreaterThan(5);
    await writeFile(join(home, 'shop.ts'), samples.map(([, code]) => code).join('\n'));
    const compilerOptions = {
      strict: true,
      module: 'nodenext',
      target: 'es2022',
      typeRoots: [join(PROJECT_ROOT, 'node_modules', '@types')],
      types: ['node'],
      noEmit: true,
      skipLibCheck: true,
    };
    await writeFile(join(home, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['shop.ts'] }));
    expect(await compiled(home)).toBe('');
  });
});

/** What the compiler complains of. */
async function compiled(home: string): Promise<string> {
  const compiler = join(PROJECT_ROOT, 'node_modules', 'typescript', 'bin', 'tsc');
  const { stdout } = await run(process.execPath, [compiler, '-p', home]).catch(
    (failed) => failed as { stdout: string },
  );
  return stdout;
}
