// Helm, kubeconform, systemd and HAProxy accept the files in deploy/. The proof names a missing tool and skips its checks.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { programOptions } from '../../testkit/program-options.js';
import { PROJECT_ROOT } from '../../testkit/project.js';
import { say } from '../../testkit/report.js';
import { verdict } from '../arena/verdict.js';

const values = programOptions({
  // Where kubeconform finds the schemas of Kubernetes, if it cannot fetch them.
  schemas: { type: 'string', default: 'default' },
  kubernetes: { type: 'string', default: '1.36.3' },
});

const CHART = 'deploy/helm/tollgate';
const FOR = ['--kube-version', values.kubernetes];

/** Ways to install the chart, as arguments of helm. */
const INSTALLATIONS: Readonly<Record<string, readonly string[]>> = {
  'as it is': [],
  'one replica and plain HTTP, for trying out': [
    '--set=replicas=1,environment=development,tls.secretName=,migration.enabled=false',
  ],
  'HashiCorp Vault': ['--set=keys.provider=vault-transit,keys.vault.address=https://vault.example:8200'],
  'AWS KMS, and three logins': [
    '--set=keys.provider=aws-kms,keys.kms.key=alias/tollgate,keys.kms.region=ap-southeast-2,keys.kms.accessKeyId=AKIDEXAMPLE',
    '--set=database.separateLogins=true',
  ],
  'AWS KMS by the role of the pod': [
    '--set=keys.provider=aws-kms,keys.kms.key=alias/tollgate,keys.kms.region=ap-southeast-2',
  ],
  'everything set': [
    `--set=image.digest=sha256:${'0'.repeat(64)},imagePullSecrets[0].name=registry,networkPolicy.enabled=true`,
    '--set=networkPolicy.from[0].namespaceSelector.matchLabels.shop=yes,service.type=LoadBalancer',
    '--set=settings.TOLLGATE_MAX_CONNECTIONS=1000000,settings.TOLLGATE_DEMO=false,settings.TOLLGATE_ACQUIRER_DEADLINE_MS=20000',
    '--set=terminationGracePeriodSeconds=31,priorityClassName=payments,nodeSelector.disk=fast,podLabels.team=payments',
    '--set=keys.vault.namespace=unused,tolerations[0].key=payments,tolerations[0].operator=Exists,podAnnotations.a=b',
    '--set=serviceAccount.annotations.role=kms,service.annotations.internal=yes,metrics.enabled=true',
    '--set=metrics.from[0].namespaceSelector.matchLabels.monitoring=yes',
  ],
};

/** What the chart must not take, with a word of why. */
const REFUSED: Readonly<Record<string, readonly [values: string, why: RegExp]>> = {
  'a misspelt value': ['replica=3', /replica/],
  'a misspelt setting': ['settings.TOLLGATE_MAX_DELAYS_MS=200', /TOLLGATE_MAX_DELAYS_MS/],
  'a secret among the settings': [
    'settings.TOLLGATE_KEY_ENCRYPTION_KEY=secret',
    /TOLLGATE_KEY_ENCRYPTION_KEY/,
  ],
  'a stop that is cut short': [
    'settings.TOLLGATE_ACQUIRER_DEADLINE_MS=30000',
    /terminationGracePeriodSeconds/,
  ],
  'a budget that no node can be drained under': ['replicas=2,podDisruptionBudget.minAvailable=2', /drained/],
  'Vault without its address': ['keys.provider=vault-transit', /keys\.vault\.address/],
  'KMS without its key': ['keys.provider=aws-kms', /keys\.kms\./],
  'three logins, and none that migrates': [
    'database.separateLogins=true,migration.enabled=false',
    /migration\.enabled/,
  ],
  'production in clear': ['tls.secretName=', /tls\.secretName/],
  'a digest that is none': ['image.digest=sha256:1234', /digest/],
};

const folder = mkdtempSync(join(tmpdir(), 'tollgate-deploy-'));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
const broken: Record<string, string[]> = {};
const missing = new Set<string>();
let checks = 0;

interface Said {
  readonly ok: boolean;
  readonly text: string;
}

/** Undefined if the tool is not there. */
function tool(program: string, args: readonly string[], input = ''): Said | undefined {
  const { status, error, stdout, stderr } = spawnSync(program, args, {
    cwd: PROJECT_ROOT,
    input,
    encoding: 'utf8',
  });
  if ((error as NodeJS.ErrnoException | undefined)?.code === 'ENOENT') {
    missing.add(program);
    return undefined;
  }
  checks += 1;
  return { ok: status === 0, text: status === 0 ? stdout : `${stdout}${stderr}` };
}

function expectGood(promise: string, what: string, said: Said | undefined): void {
  if (said === undefined || said.ok) return;
  broken[promise] = [...(broken[promise] ?? []), `${what}: ${said.text}`];
}

expectGood('helm lint takes the chart', CHART, tool('helm', ['lint', '--strict', CHART]));
for (const [name, args] of Object.entries(INSTALLATIONS)) {
  const made = tool('helm', ['template', 'shop', CHART, '--namespace', 'payments', ...FOR, ...args]);
  expectGood('helm template takes the values', name, made);
  if (!made?.ok) continue;
  const check = [
    '-strict',
    '-summary',
    '-kubernetes-version',
    values.kubernetes,
    '-schema-location',
    values.schemas,
  ];
  expectGood('Kubernetes knows every object and field', name, tool('kubeconform', check, made.text));
}
for (const [name, [set, why]] of Object.entries(REFUSED)) {
  const said = tool('helm', ['template', 'shop', CHART, ...FOR, '--set', set]);
  if (said === undefined) continue;
  const asItShould = { ok: !said.ok && why.test(said.text), text: said.ok ? 'was taken' : said.text };
  expectGood('the chart refuses what cannot work', name, asItShould);
}

const units = ['tollgate.service', 'tollgate-live.service', 'tollgate-live.timer'];
for (const unit of units) {
  // Without programs that are only there once it is installed.
  const text = readFileSync(join(PROJECT_ROOT, 'deploy/systemd', unit), 'utf8');
  writeFileSync(join(folder, unit), text.replaceAll('/usr/bin/node', process.execPath));
}
const verified = tool('systemd-analyze', ['verify', ...units.map((unit) => join(folder, unit))]);
expectGood('systemd takes the units', units.join(', '), verified);

// HAProxy wants to see the certificates that its configuration names.
const pem = (name: string) => join(folder, name);
const request = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-subj', '/CN=proxy', '-days', '1'];
const certified = tool('openssl', [...request, '-keyout', pem('site.pem.key'), '-out', pem('site.pem')]);
if (certified?.ok) cpSync(pem('site.pem'), pem('authority.pem'));
for (const path of ['deploy/compose/haproxy.cfg', 'deploy/high-availability/haproxy.cfg']) {
  const text = readFileSync(join(PROJECT_ROOT, path), 'utf8');
  // Names and files that are known only where it runs.
  const local = text
    .replaceAll(/\b(?:gateway\d|db\d):(?=\d)/g, '127.0.0.1:')
    .replaceAll('/etc/haproxy/tls', folder)
    .replaceAll('/run/haproxy', folder);
  writeFileSync(join(folder, 'haproxy.cfg'), local);
  if (!certified?.ok && local.includes(folder)) continue;
  expectGood(
    'HAProxy takes the configuration',
    path,
    tool('haproxy', ['-c', '-f', join(folder, 'haproxy.cfg')]),
  );
}

for (const path of ['deploy/compose/make-secrets.sh', 'deploy/compose/make-database.sh']) {
  expectGood('the shell can read the scripts', path, tool('sh', ['-n', path]));
}

for (const program of missing) say(`deploy: ${program} is not there; its checks are skipped`);
process.exitCode = verdict(broken, `deploy: ${checks} checks`);
