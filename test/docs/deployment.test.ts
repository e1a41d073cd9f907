// The files in deploy/ agree with the code, and with each other: settings, ports, addresses, users, and how long a stop may take.
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { commands as programCommands } from '../../src/cli/command-line.js';
import { readSettings } from '../../src/gateway/settings/settings.js';
import { longestStopMs } from '../../src/gateway/stopping.js';
import { haproxyConfiguration } from '../../src/http/haproxy.js';
import { readFleet } from '../../src/installation/fleet/fleet-file.js';
import { filesUnder, read } from '../../testkit/project-files.js';

const FILES = filesUnder('deploy').filter((path) => !path.startsWith('deploy/compose/secrets/'));
const DOCKERFILE = read('deploy/docker/Dockerfile');
const COMPOSE = read('deploy/compose/compose.yaml');
const HAPROXY = read('deploy/compose/haproxy.cfg');
const FLEET = read('deploy/fleet/haproxy.cfg');
const UNIT = read('deploy/systemd/tollgate.service');
const SYSTEMD_SETTINGS = read('deploy/systemd/settings.example');
const CHART = 'deploy/helm/tollgate';
const VALUES = read(`${CHART}/values.yaml`);
const DEPLOYMENT = read(`${CHART}/templates/deployment.yaml`);
const CONTAINER = read(`${CHART}/templates/_container.tpl`) + read(`${CHART}/templates/migration.yaml`);

/** Every setting, of which another test knows that it is in this table. */
const SETTINGS = [...read('docs/operations.md').matchAll(/^\| `(DATABASE_URL|TOLLGATE_\w+)` \|/gm)].map(
  ([, name]) => name as string,
);
const SECRETS = [
  'DATABASE_URL',
  'TOLLGATE_MIGRATING_DATABASE_URL',
  'TOLLGATE_OPERATING_DATABASE_URL',
  'TOLLGATE_AWS_SECRET_ACCESS_KEY',
  'TOLLGATE_AWS_SESSION_TOKEN',
  'TOLLGATE_METRICS_TOKEN',
  'TOLLGATE_OIDC_CLIENT_SECRET',
  'TOLLGATE_OPERATOR_TOKEN',
  'TOLLGATE_OTLP_HEADERS',
  'TOLLGATE_KEY_ENCRYPTION_KEY',
  'TOLLGATE_VAULT_TOKEN',
  'TOLLGATE_TLS_KEY',
];

/** The numbers that an expression finds, at least one. */
function numbers(text: string, wanted: RegExp): number[] {
  const found = [...text.matchAll(wanted)].map(([, number]) => Number(number));
  expect(found.length, `${wanted} is not there any more`).toBeGreaterThan(0);
  return found;
}

test('HAProxy’s configuration for a fleet is the one that is made of its file', async () => {
  const made = haproxyConfiguration(await readFleet('deploy/fleet/fleet.json'));
  expect(FLEET.trimEnd()).toBe(made.trimEnd());
});

describe('settings', () => {
  const named = FILES.flatMap((path) =>
    [...read(path).matchAll(/\b(?:DATABASE_URL|TOLLGATE_[A-Z][A-Z_]*)\b/g)].map(([name]) => ({ path, name })),
  );

  test('every setting that a file names is a setting of the gateway', () => {
    expect(named.length).toBeGreaterThan(0);
    expect(named.filter(({ name }) => !SETTINGS.includes(name.replace(/_FILE$/, '')))).toEqual([]);
  });

  test('secrets are given as files only', () => {
    const given = FILES.flatMap((path) =>
      read(path)
        .split('\n')
        .filter(
          (line) => !/^\s*#/.test(line) && SECRETS.some((name) => new RegExp(`\\b${name}\\b`).test(line)),
        ),
    );
    expect(given).toEqual([]);
    for (const text of [COMPOSE, UNIT, CONTAINER]) {
      expect(text).toContain('DATABASE_URL_FILE');
      expect(text).toContain('TOLLGATE_KEY_ENCRYPTION_KEY_FILE');
    }
  });

  test('each file that holds a secret is readable by the process that needs it', () => {
    const wanted = [...COMPOSE.matchAll(/\/run\/secrets\/([\w-]+)/g)].map(([, name]) => name);
    for (const name of wanted)
      expect(COMPOSE).toMatch(new RegExp(`^ {2}${name}: \\{ file: \\./secrets/${name} \\}$`, 'm'));
    for (const [, name] of UNIT.matchAll(/=%d\/([\w-]+)$/gm))
      expect(UNIT).toMatch(new RegExp(`^LoadCredential=${name}:`, 'm'));
    // The chart shows its two Secrets as folders, and says which keys they have to have.
    const wantedKeys = [...CONTAINER.matchAll(/\/run\/secrets\/tollgate\/([\w-]+)/g)].map(
      ([, name]) => name as string,
    );
    expect(wantedKeys.filter((name) => !VALUES.includes(name))).toEqual([]);
  });

  test('everything keeps the end of the journal outside of the database', () => {
    const { journalAnchors } = readSettings({
      TOLLGATE_JOURNAL_ANCHOR: /^TOLLGATE_JOURNAL_ANCHOR=(.+)$/m.exec(SYSTEMD_SETTINGS)?.[1],
    });
    expect(journalAnchors).toEqual([{ kind: 'file', path: '/var/log/tollgate/journal' }, { kind: 'logger' }]);
    expect(UNIT).toMatch(/^LogsDirectory=tollgate$/m);
    expect(COMPOSE).toMatch(/^ {8}TOLLGATE_JOURNAL_ANCHOR: \/data\/\w/m);
    expect(CONTAINER).toContain('- name: TOLLGATE_JOURNAL_ANCHOR\n');
    expect(read(`${CHART}/templates/_checks.tpl`)).toMatch(
      /"production"\) \(not \.Values\.journal\.anchor\)/,
    );
  });

  test('the login that owns the tables is given to migrations only', () => {
    const [, migrate = ''] = /^ {2}migrate:\n([\s\S]*?)^ {2}\w+:\n/m.exec(COMPOSE) ?? [];
    const owner = /migrating-database-url/g;
    expect(migrate.match(owner)).toHaveLength(2);
    // Beside the migration: what declares the secret.
    expect(COMPOSE.match(owner)).toHaveLength(2 + 2);
    expect(UNIT).not.toMatch(owner);
    expect(DEPLOYMENT + read(`${CHART}/templates/_container.tpl`)).not.toMatch(owner);
    for (const text of [COMPOSE, UNIT, CONTAINER])
      expect(text).toContain('TOLLGATE_OPERATING_DATABASE_URL_FILE');
  });

  test('the chart accepts every setting that is not a secret, not set by the chart, and not for tests', () => {
    const { properties } = JSON.parse(read(`${CHART}/values.schema.json`)) as {
      properties: { settings: { propertyNames: { enum: string[] } } };
    };
    const own = [...CONTAINER.matchAll(/- name: ((?:DATABASE|TOLLGATE)_\w+)/g)].map(([, name]) =>
      (name as string).replace(/_FILE$/, ''),
    );
    expect([...properties.settings.propertyNames.enum].sort()).toEqual(
      SETTINGS.filter((name) => ![...own, ...SECRETS, 'TOLLGATE_CRASH_AT'].includes(name)).sort(),
    );
  });
});

describe('addresses', () => {
  test('clients use one port of the gateway, and operators another', () => {
    const { port, console: operators } = readSettings({});
    expect(
      new Set([
        ...numbers(DOCKERFILE, /TOLLGATE_PORT=(\d+)/g),
        ...numbers(DOCKERFILE, /^EXPOSE (\d+)/gm),
        ...numbers(HAPROXY, /server-template gateway \S+ gateway:(\d+)/g),
        ...numbers(CONTAINER, /TOLLGATE_PORT\n\s+value: "(\d+)"/g),
        ...numbers(DEPLOYMENT, /name: gateway\n\s+containerPort: (\d+)/g),
        ...numbers(SYSTEMD_SETTINGS, /TOLLGATE_PORT=(\d+)/g),
      ]),
    ).toEqual(new Set([port]));
    expect(
      new Set([
        ...numbers(CONTAINER, /TOLLGATE_CONSOLE_PORT\n\s+value: "(\d+)"/g),
        ...numbers(DEPLOYMENT, /name: operators\n\s+containerPort: (\d+)/g),
        ...numbers(HAPROXY, /server-template console \S+ gateway:(\d+)/g),
        ...numbers(COMPOSE, /TOLLGATE_CONSOLE_URL: http:\/\/localhost:(\d+)/g),
      ]),
    ).toEqual(new Set([operators?.port]));
  });

  test('every address that is probed is served', () => {
    const served = [...read('src/http/pages.ts').matchAll(/\badd\('([^']+)'/g)].map(([, path]) => path);
    const probed = [
      ...DEPLOYMENT.matchAll(/path: (\/\S+)/g),
      ...HAPROXY.matchAll(/httpchk GET (\/\S+)/g),
    ].map(([, path]) => path);
    expect(new Set(probed)).toEqual(new Set(['/livez', '/readyz']));
    expect(served).toEqual(expect.arrayContaining(probed));
  });

  test('every command that is run exists', () => {
    const commands = FILES.flatMap((path) =>
      [...read(path).matchAll(/bin\/tollgate\.js"?,? "?(\w+)/g)].map(([, command]) => command as string),
    );
    const known = programCommands().commands.map((command) => command.name());
    expect(new Set(commands)).toEqual(new Set(['serve', 'migrate', 'probe']));
    expect(known).toEqual(expect.arrayContaining(commands));
  });
});

describe('stopping', () => {
  const neededSeconds = longestStopMs(readSettings({})) / 1000;

  test('everything that stops the gateway waits for longer than a stop takes', () => {
    const [, gateway = ''] = /^ {2}gateway:\n([\s\S]*?)^ {2}\w+:\n/m.exec(COMPOSE) ?? [];
    const [unit] = numbers(UNIT, /^TimeoutStopSec=(\d+)$/gm);
    const [service] = numbers(gateway, /stop_grace_period: (\d+)s/g);
    const [pod = 0] = numbers(VALUES, /^terminationGracePeriodSeconds: (\d+)$/gm);
    const [preStop = 0] = numbers(VALUES, /^preStopSeconds: (\d+)$/gm);
    for (const seconds of [unit, service, pod - preStop]) expect(seconds).toBeGreaterThan(neededSeconds);
  });

  test('the chart knows how long a stop may take', () => {
    const { acquirerDeadlineMs } = readSettings({});
    const checks = read(`${CHART}/templates/_checks.tpl`);
    expect(numbers(checks, /"TOLLGATE_ACQUIRER_DEADLINE_MS" \| default (\d+)/g)).toEqual([
      acquirerDeadlineMs,
    ]);
    expect(numbers(checks, /999\) 1000\) (\d+) 1/g)).toEqual([neededSeconds - acquirerDeadlineMs / 1000]);
  });
});

describe('images', () => {
  test('every image is given by its digest', () => {
    const images = [
      ...DOCKERFILE.matchAll(/^ARG \w+_IMAGE=(\S+)$/gm),
      ...COMPOSE.matchAll(/^ {4}image: (?!&|\*)(\S+)$/gm),
    ].map(([, image]) => image as string);
    expect(images).toHaveLength(4);
    expect(images.filter((image) => !/^[\w.-]+:[\w.-]+@sha256:[0-9a-f]{64}$/.test(image))).toEqual([]);
    const bases = [...DOCKERFILE.matchAll(/^FROM \$\{(\w+)\}(?: AS \w+)?$/gm)].map(([, name]) => name);
    expect(bases).toEqual(['NODE_IMAGE', 'DEBIAN_IMAGE']);
    expect(numbers(DOCKERFILE, /^(FROM) /gm)).toHaveLength(bases.length);
    expect(DOCKERFILE).toContain('NODE_IMAGE=node:24.');
  });

  test('everything that the image copies exists, and is sent to the build', () => {
    const sent = read('.dockerignore')
      .split('\n')
      .flatMap((line) => (line.startsWith('!') ? [line.slice(1)] : []));
    const copied = [...DOCKERFILE.matchAll(/^COPY (?!.*--from)(?:--\S+ )?(.+) \S+$/gm)].flatMap(
      ([, sources]) => (sources as string).split(' '),
    );
    expect(copied).toContain('package-lock.json');
    expect([...copied].sort()).toEqual([...sent].sort());
    for (const path of copied.filter((name) => name.includes('.'))) {
      expect(() => readFileSync(new URL(`../../${path}`, import.meta.url))).not.toThrow();
    }
  });

  test('its user is the one in the chart, and not root', () => {
    const [user] = numbers(DOCKERFILE, /^USER (\d+):\1$/gm);
    expect(user).toBeGreaterThan(0);
    expect(new Set(numbers(CONTAINER, /(?:runAsUser|runAsGroup|fsGroup): (\d+)/g))).toEqual(new Set([user]));
    expect(numbers(DOCKERFILE, /--[ug]id (\d+)/g)).toEqual([user, user]);
  });

  test('the chart is of this version', () => {
    const { version } = JSON.parse(read('package.json')) as { version: string };
    expect(read(`${CHART}/Chart.yaml`)).toContain(`\nappVersion: ${version}\n`);
  });
});
