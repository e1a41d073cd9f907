// The Python client, by its own tests, at a gateway of ours; and the samples of its documentation.
import { execFile, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeSigningSecret, signatureHeaders } from '../../src/webhooks/signature.js';
import { makeCertificate } from '../../testkit/certificates.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { environmentWithoutSettings, PROJECT_ROOT } from '../../testkit/project.js';

const PYTHON_CLIENT = join(PROJECT_ROOT, 'client', 'python');
const NEEDED = 'import sys; sys.exit(sys.version_info < (3, 10))';
const isThere = spawnSync('python3', ['-c', NEEDED]).status === 0;
const skipped = isThere ? '' : ' (skipped: there is no python3 of 3.10 or later)';

const MODULES = readdirSync(join(PYTHON_CLIENT, 'tests'))
  .filter((name) => /^test_\w+\.py$/.test(name))
  .map((name) => name.replace(/\.py$/, ''));

test('the Python client → has the version of the program', () => {
  const { version } = JSON.parse(readFileSync(join(PROJECT_ROOT, 'package.json'), 'utf8'));
  const [, own] =
    /^version = "(.*)"$/m.exec(readFileSync(join(PYTHON_CLIENT, 'pyproject.toml'), 'utf8')) ?? [];
  expect(own).toBe(version);
});

describe.skipIf(!isThere)(`the Python client${skipped}`, () => {
  let gateway: TestGateway;
  let folder: string;
  let webhook: string;

  beforeAll(async () => {
    gateway = await testGateway();
    folder = await mkdtemp(join(tmpdir(), 'tollgate-python-'));
    // While nobody else trades: the first event is that of its purchase.
    webhook = await signedWebhook();
  });
  afterAll(async () => {
    await gateway.close();
    await rm(folder, { recursive: true, force: true });
  });

  /** Its output, if it ends well; otherwise the test fails with it. */
  async function python(args: readonly string[], environment: Readonly<Record<string, string>> = {}) {
    const { stdout, stderr } = await promisify(execFile)('python3', args, {
      cwd: PYTHON_CLIENT,
      env: {
        ...environmentWithoutSettings(),
        PYTHONDONTWRITEBYTECODE: '1',
        PYTHONPATH: PYTHON_CLIENT,
        TOLLGATE_CLIENT_URL: gateway.baseUrl,
        TOLLGATE_CLIENT_USERNAME: gateway.owner.username,
        TOLLGATE_CLIENT_PASSWORD: gateway.owner.password,
        ...environment,
      },
    }).catch((error) => {
      throw new Error(`${error.stdout}\n${error.stderr}`);
    });
    return stdout + stderr;
  }

  /** One that the gateway's own code has signed, about a purchase. */
  async function signedWebhook(): Promise<string> {
    await gateway.api.purchase();
    const { body } = await gateway.api.get('/events?merchant_id=1&limit=1');
    const [event] = body.results;
    const secret = makeSigningSecret();
    const text = JSON.stringify(event);
    const timestampSeconds = Math.floor(Date.now() / 1000);
    const headers = signatureHeaders([makeSigningSecret(), secret], {
      id: event.id,
      timestampSeconds,
      body: text,
    });
    const path = join(folder, 'webhook.json');
    await writeFile(path, JSON.stringify({ secret, headers, body: text }));
    return path;
  }

  async function tlsFiles(): Promise<Record<string, string>> {
    const { certificate, key } = makeCertificate();
    const paths = {
      TOLLGATE_TEST_CERTIFICATE: join(folder, 'certificate.pem'),
      TOLLGATE_TEST_KEY: join(folder, 'key.pem'),
    };
    await writeFile(paths.TOLLGATE_TEST_CERTIFICATE, certificate);
    await writeFile(paths.TOLLGATE_TEST_KEY, key);
    return paths;
  }

  // At once: they mostly wait.
  test.concurrent.each(MODULES)('%s → passes', async (module) => {
    const given: Readonly<Record<string, () => Promise<Record<string, string>>>> = {
      test_webhooks: async () => ({ TOLLGATE_TEST_WEBHOOK: webhook }),
      test_tls: tlsFiles,
    };
    const output = await python(
      ['-W', 'error', '-m', 'unittest', `tests.${module}`],
      await given[module]?.(),
    );
    expect(output).toMatch(/^Ran [1-9]\d* tests? in [\d.]+s\s+OK$/m);
  });

  test.concurrent.each(['docs/python.md', 'client/python/README.md'])(
    '%s → its samples run',
    async (page) => {
      const text = readFileSync(join(PROJECT_ROOT, page), 'utf8');
      const samples = [...text.matchAll(/^```python\n([\s\S]*?)^```$/gm)].map(([, sample]) => sample);
      expect(samples.length).toBeGreaterThan(0);
      const script = join(folder, `${page.replaceAll('/', '-')}.py`);
      await writeFile(script, samples.join('\n'));
      // As after `pip install`: the package is there, and nothing that lies beside it.
      // Of its own: both pages are run at the same time.
      const installed = join(folder, `installed-${page.replaceAll('/', '-')}`);
      await mkdir(installed, { recursive: true });
      await cp(join(PYTHON_CLIENT, 'tollgate_client'), join(installed, 'tollgate_client'), {
        recursive: true,
      });
      const output = await python(['-W', 'error::SyntaxWarning', script], { PYTHONPATH: installed });
      expect(output).toContain('approved');
    },
  );

  test('the shop, started by a process that died → finishes what was begun, and nothing is paid twice', async () => {
    const books = join(folder, 'books');
    const shop = (orders: number) =>
      python([join('examples', 'shop.py')], {
        SHOP_BOOKS: books,
        SHOP_ORDERS: String(orders),
        SHOP_CONCURRENCY: '4',
        SHOP_SEED: '7',
      });
    await shop(8);
    const lines = readFileSync(books, 'utf8').split('\n');
    // As if it had been killed after the second order's payment, and while it wrote the line of another.
    const known = lines.filter((line) => !/"order": [2-7],.*"state": "(paid|declined)"/.test(line));
    await writeFile(books, `${known.filter((line) => line !== '').join('\n')}\n{"order": 9, "corr`);
    await shop(10);
    const { body } = await gateway.api.get('/transactions/history?merchant_id=1&reference=shop-7-');
    expect(body.results).toHaveLength(10);
    const states = readFileSync(books, 'utf8').match(/"state": "(paid|declined)"/g);
    expect(states).toHaveLength(10);
  });
});
