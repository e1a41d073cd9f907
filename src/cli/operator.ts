// Who runs a command, and on which database.
import { userInfo } from 'node:os';
import { withDatabase } from '../gateway/connection.js';
import { readSettings, type Settings } from '../gateway/settings.js';
import type { Database } from '../postgres/database.js';

/** Does an operator's work on the database that the settings name. `operator` is the name for the journal. */
export function operate<Result>(
  work: (database: Database, operator: string, settings: Settings) => Promise<Result>,
): Promise<Result> {
  const settings = readSettings();
  return withDatabase(settings, (database) => work(database, operatorName(), settings));
}

function operatorName(): string {
  try {
    return `operator:${userInfo().username}`;
  } catch {
    // A user without a name, as in some containers.
    return `operator:${process.getuid?.() ?? 'unknown'}`;
  }
}
