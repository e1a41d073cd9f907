// A cell of the fleet as commands on this machine reach it: its database, by the settings that the fleet file names.
import { readFile } from 'node:fs/promises';
import type { Cell } from '../../installation/fleet/fleet-file.js';
import { Database } from '../../postgres/database.js';
import { loginsOf, problemsOfEncryption, withDatabase } from '../database/connection.js';
import { readSettings, type Settings, SettingsError } from '../settings/settings.js';

const ANSWER_LIMIT_MS = 5_000;

/** With the rights of operators' commands, and only as long as `work` takes. */
export async function inCell<Result>(
  cell: Cell,
  work: (database: Database, settings: Settings) => Promise<Result>,
): Promise<Result> {
  const settings = await settingsOfCell(cell);
  const { databaseUrl } = settings;
  if (databaseUrl === undefined) return withDatabase(settings, (own) => work(own, settings));
  const [unsafe] = problemsOfEncryption(settings);
  if (unsafe !== undefined) throw new SettingsError(unsafe);
  const database = new Database(loginsOf(settings, databaseUrl).operating, {
    maxConnections: 2,
    applicationName: 'tollgate-fleet',
    answerLimitMs: ANSWER_LIMIT_MS,
  });
  try {
    return await work(database, settings);
  } finally {
    await database.close();
  }
}

/** Only what stands in the file counts: the settings of this machine are another cell's. */
export async function settingsOfCell({ name, settings: path }: Cell): Promise<Settings> {
  if (path === undefined) throw new SettingsError(`the fleet file names no settings of cell ${name}`);
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new SettingsError(`${path} cannot be read (${error.code})`);
  });
  try {
    return readSettings(variablesIn(text));
  } catch (error) {
    throw error instanceof SettingsError ? new SettingsError(`${path}: ${error.message}`) : error;
  }
}

/** `NAME=VALUE` in each line, as a shell and systemd read them; quotes around a value are none of it. */
function variablesIn(text: string): Record<string, string> {
  const lines = text.split('\n').map((line) => line.trim());
  const given = lines.filter((line) => line !== '' && !line.startsWith('#'));
  return Object.fromEntries(
    given.map((line) => {
      const [, name, value] = /^([A-Za-z_][A-Za-z0-9_]*)=(.*)$/.exec(line) ?? [];
      if (name === undefined || value === undefined)
        throw new SettingsError('each line must be NAME=VALUE, or a comment that begins with #');
      return [name, value.replace(/^(['"])(.*)\1$/, '$2')];
    }),
  );
}
