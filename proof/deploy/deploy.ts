// Helm, kubeconform, systemd and HAProxy accept the files in deploy/. The proof names a missing tool and skips its checks.
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { programOptions } from '../../testkit/program-options.js';
import { PROJECT_ROOT } from '../../testkit/project.js';
import { temporaryFolder } from '../../testkit/temporary-folder.js';
import { ToolChecks } from '../arena/tools.js';

const values = programOptions({
  // Where kubeconform finds the schemas of Kubernetes, if it cannot fetch them.
  schemas: 'default',
  kubernetes: '1.36.3',
});

const CHART = 'deploy/helm/tollgate';
/** What every installation for production has to say. */
const FOR = ['--kube-version', values.kubernetes, '--set=journal.anchor=syslog+tcp://syslog.logging:6514'];

/** Ways to install the chart, as arguments of helm. */
const INSTALLATIONS: Readonly<Record<string, readonly string[]>> = {
  'as it is': [],
  'one replica and plain HTTP, for trying out': [
    '--set=replicas=1,environment=development,tls.secretName=,migration.enabled=false,database.separateLogins=false,journal.anchor=',
  ],
  'two anchors of the journal': [
    '--set=journal.anchor=https://collector.example/journal\\,syslog+udp://10.0.0.5',
  ],
  'HashiCorp Vault': ['--set=keys.provider=vault-transit,keys.vault.address=https://vault.example:8200'],
  'AWS KMS, and a Secret of another name for the migration': [
    '--set=keys.provider=aws-kms,keys.kms.key=alias/tollgate,keys.kms.region=ap-southeast-2,keys.kms.accessKeyId=AKIDEXAMPLE',
    '--set=secrets.migration=payments-owner',
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
  'three logins, and none that migrates': ['migration.enabled=false', /migration\.enabled/],
  'production with one login': ['database.separateLogins=false', /separateLogins/],
  'production without an anchor of the journal': ['journal.anchor=', /journal\.anchor/],
  'an anchor that ends with the pod': ['journal.anchor=/data/journal', /journal\.anchor/],
  'production in clear': ['tls.secretName=', /tls\.secretName/],
  'a digest that is none': ['image.digest=sha256:1234', /digest/],
};

const folder = temporaryFolder('deploy');
const checks = new ToolChecks();

checks.expectGood('helm lint takes the chart', CHART, checks.run('helm', ['lint', '--strict', CHART]));
for (const [name, args] of Object.entries(INSTALLATIONS)) {
  const made = checks.run('helm', ['template', 'shop', CHART, '--namespace', 'payments', ...FOR, ...args]);
  checks.expectGood('helm template takes the values', name, made);
  if (!made?.ok) continue;
  const check = [
    '-strict',
    '-summary',
    '-kubernetes-version',
    values.kubernetes,
    '-schema-location',
    values.schemas,
  ];
  checks.expectGood(
    'Kubernetes knows every object and field',
    name,
    checks.run('kubeconform', check, made.text),
  );
}
for (const [name, [set, why]] of Object.entries(REFUSED)) {
  const said = checks.run('helm', ['template', 'shop', CHART, ...FOR, '--set', set]);
  if (said === undefined) continue;
  const isRefused = !said.ok && why.test(said.text);
  checks.expect(
    'the chart refuses what cannot work',
    isRefused,
    `${name}: ${said.ok ? 'was taken' : said.text}`,
  );
}

const units = ['tollgate.service', 'tollgate-live.service', 'tollgate-live.timer'];
for (const unit of units) {
  // Without programs that are only there once it is installed.
  const text = readFileSync(join(PROJECT_ROOT, 'deploy/systemd', unit), 'utf8');
  writeFileSync(join(folder, unit), text.replaceAll('/usr/bin/node', process.execPath));
}
const verified = checks.run('systemd-analyze', ['verify', ...units.map((unit) => join(folder, unit))]);
checks.expectGood('systemd takes the units', units.join(', '), verified);

// HAProxy wants to see the certificates that its configuration names.
const pem = (name: string) => join(folder, name);
const request = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-subj', '/CN=proxy', '-days', '1'];
const certified = checks.run('openssl', [
  ...request,
  '-keyout',
  pem('site.pem.key'),
  '-out',
  pem('site.pem'),
]);
if (certified?.ok) cpSync(pem('site.pem'), pem('authority.pem'));
writeFileSync(join(folder, 'fleet.map'), 'one.pay.example one\n');
const CONFIGURATIONS = ['compose', 'high-availability', 'fleet'].map((name) => `deploy/${name}/haproxy.cfg`);
for (const path of CONFIGURATIONS) {
  const text = readFileSync(join(PROJECT_ROOT, path), 'utf8');
  // Names and files that are known only where it runs.
  const local = text
    .replaceAll(/\b(?:gateway\d|db\d|\w+-[ab]\.internal):(?=\d)/g, '127.0.0.1:')
    .replaceAll(/\/etc\/haproxy\/tls\/(?=\s)/g, pem('site.pem'))
    .replaceAll(/\/etc\/haproxy(?:\/tls)?\b/g, folder)
    .replaceAll('/run/haproxy', folder);
  writeFileSync(join(folder, 'haproxy.cfg'), local);
  if (!certified?.ok && local.includes(folder)) continue;
  checks.expectGood(
    'HAProxy takes the configuration',
    path,
    checks.run('haproxy', ['-c', '-f', join(folder, 'haproxy.cfg')]),
  );
}

const SCRIPTS = [
  'compose/make-secrets.sh',
  'compose/make-database.sh',
  'fleet/update-map.sh',
  'fleet/try.sh',
];
for (const path of SCRIPTS.map((name) => `deploy/${name}`)) {
  checks.expectGood('the shell can read the scripts', path, checks.run('sh', ['-n', path]));
}

process.exitCode = checks.verdict('deploy');
