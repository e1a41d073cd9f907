// What is done with a gateway on this machine, before there is a database or without one.
import { hostname } from 'node:os';
import { type SealedAtUpgrade, sealAtUpgrade } from '../installation/upgrade.js';
import { EntrySigner, setSigner } from '../journal/entry-signer.js';
import { CredentialKey } from '../organisations/users/credentials.js';
import { Database } from '../postgres/database.js';
import { migrate } from '../postgres/schema.js';
import { choice, duration, FLAG } from '../tasks/kinds.js';
import { optional, task } from '../tasks/task.js';
import { openInstallationKey } from '../vault/keys/installation-keys.js';
import { KeyUnavailable } from '../vault/keys/key-provider.js';
import { connect } from './database/connection.js';
import { FLEET } from './fleet/fleet-tasks.js';
import { checkKey } from './settings/key-encryption.js';
import { readSettings, type Settings, SettingsError } from './settings/settings.js';

const PROBE = task({
  name: 'probe',
  help: 'ask the gateway on this machine whether it can take requests (ready), or answers at all (live)',
  scope: 'nobody',
  on: 'nothing',
  input: {
    question: optional(choice('ready', 'live'), '[question]', '', { default: 'ready' as const }),
    within: optional(duration(), '--within <duration>', 'ask again for so long, until the answer is yes', {
      default: 0,
    }),
  },
  run: async (_, { question, within }): Promise<{ readonly reason?: string }> => {
    const settings = readSettings();
    if (settings.port === 0)
      throw new SettingsError('TOLLGATE_PORT is 0, any free port: nobody knows which to ask');
    // Loaded only here: the other commands do not need Node's HTTP client, and start sooner.
    const { probe } = await import('../http/probe.js');
    const reason = await probe(settings, question, within);
    return { [question]: reason === undefined, ...(reason !== undefined && { reason }) };
  },
  says: ({ reason }, { question }) =>
    reason === undefined ? `The gateway is ${question}.` : `The gateway is not ${question}: ${reason}.`,
  fails: ({ reason }) => reason !== undefined,
});

const DOCTOR = task({
  name: 'doctor',
  help: 'look at everything that an operator would check, and change nothing; exit code 1 where something failed',
  scope: 'nobody',
  on: 'nothing',
  input: {},
  run: async () => {
    // Loaded only here: the other commands need neither certificates nor the calendar.
    const { examine } = await import('./doctor/doctor.js');
    const findings = await examine();
    const count = (wanted: string) => findings.filter(({ result }) => result === wanted).length;
    return { failed: count('failed'), warnings: count('warning'), findings };
  },
  says: ({ failed, warnings, findings }) => {
    const width = Math.max(...findings.map(({ check }) => check.length));
    const lines = findings.map(
      ({ check, result, found, todo }) =>
        `${result.padEnd(11)}  ${check.padEnd(width)}  ${found}${todo === undefined ? '' : ` → ${todo}`}`,
    );
    return [...lines, `${failed} failed, ${warnings} ${warnings === 1 ? 'warning' : 'warnings'}.`].join('\n');
  },
  fails: ({ failed }) => failed > 0,
});

const MIGRATE = task({
  name: 'migrate',
  help: 'bring the schema of the database up to date',
  scope: 'nobody',
  on: 'nothing',
  input: {
    changedJournalKnown: optional(
      FLAG,
      '--changed-journal-i-know',
      'seal what an earlier release has stored although entries of the journal were removed or changed',
    ),
  },
  run: async (_, { changedJournalKnown }) => {
    const settings = readSettings();
    const connection = await connect(settings, 'migrating');
    // What seals transactions holds a lock meanwhile.
    const database = new Database(connection.logins.migrating, { maxConnections: 3, patient: true });
    try {
      const { version, applied } = await migrate(database);
      return { version, applied, sealed: await sealWithKey(settings, database, changedJournalKnown) };
    } finally {
      await database.close();
      await connection.close();
    }
  },
  says: ({ version, applied, sealed }) => {
    const schema =
      applied.length === 0
        ? `The schema is current, version ${version}.`
        : `Applied ${applied.join(', ')}: schema ready, version ${version}.`;
    if (sealed === undefined) return schema;
    return `${schema} ${sealed.transactions} transactions and ${sealed.rows} other rows that were there are sealed, and the journal says so.`;
  },
});

/** Undefined where it was done before, or where the key is not at hand: then the first start does it. */
async function sealWithKey(
  settings: Settings,
  database: Database,
  changedJournalKnown: boolean | undefined,
): Promise<SealedAtUpgrade | undefined> {
  try {
    const provider = await checkKey(settings, database);
    const journalKey = await openInstallationKey(database, provider, 'journal');
    setSigner(database, new EntrySigner(journalKey, hostname()));
    const credentialKey = new CredentialKey(await openInstallationKey(database, provider, 'credentials'));
    return await sealAtUpgrade(database, {
      actor: 'gateway:migrate',
      provider,
      journalKey,
      credentialKey,
      anchorFiles: settings.journalAnchorFiles,
      changedJournalKnown,
    });
  } catch (error) {
    if (error instanceof KeyUnavailable) return undefined;
    throw error;
  }
}

/** In the order in which `tollgate --help` lists them. They ask for no operator, so the console does not know them. */
export const GATEWAY_GROUPS = [
  ...[PROBE, DOCTOR, MIGRATE].map((only) => ({ name: only.name, tasks: [only] })),
  FLEET,
];
