// `tollgate backup` and `tollgate restore`, for the database that comes with the gateway, and `tollgate counters` for any other.
import type { Command } from 'commander';
import { advanceCounters, backUp, restore } from '../../gateway/database/backup.js';
import { readSettings } from '../../gateway/settings/settings.js';
import { revivedLines } from '../../installation/restored.js';
import type { Queryable } from '../../postgres/database.js';
import { from, wholeNumber } from '../arguments.js';
import { admitOnAnySchema, unknownOperator } from '../operator.js';
import { printing } from '../output.js';
import { ProgressBar } from '../progress-bar.js';
import { restoredSentence } from './restored.js';

const MEGABYTE = 1024 * 1024;

export function addBackupCommands(program: Command, release: string): void {
  printing(
    program
      .command('backup')
      .description('back up the database that comes with Tollgate, while the gateway serves')
      .argument('<folder>', 'where to: a folder that is not there yet, or is empty')
      .option('--with-key', 'the key file too: whoever has such a backup can open every card in it'),
    async (folder: string, { withKey = false }: { withKey?: boolean }) => {
      const bar = new ProgressBar('backup', 'MB');
      const settings = readSettings();
      const { manifest, fingerprint } = await backUp(settings, {
        folder,
        admit: (database) => admitOnAnySchema(settings, database),
        release,
        withKey,
        progress: (bytes, of) => bar.show(Math.floor(bytes / MEGABYTE), Math.ceil(of / MEGABYTE)),
      });
      bar.end();
      const { bytes, files, taken, keyEncryptionKey } = manifest;
      const key = withKey
        ? 'The key-encryption key is in it: guard it as you guard the cards.'
        : 'The key-encryption key is not in it: keep that elsewhere, for as long as this backup.';
      return {
        value: { folder, taken, bytes, files: files.length, fingerprint, keyEncryptionKey, withKey },
        sentence: `Backed up ${Math.ceil(bytes / MEGABYTE)} MB to ${folder}, as of ${taken}. Fingerprint: ${fingerprint}\n${key}`,
      };
    },
  );
  printing(
    program
      .command('restore')
      .description('bring a backup back into an empty data directory')
      .argument('<folder>', 'the backup')
      .option('--fingerprint <fingerprint>', 'only if the backup is this one')
      .option('--ahead <count>', 'by how many to move audits, customer and token IDs', ahead),
    async (folder: string, options: { fingerprint?: string; ahead?: number }) => {
      const settings = readSettings();
      const bar = new ProgressBar('restore', 'MB');
      const restored = await restore(settings, {
        folder,
        operator: unknownOperator(settings),
        ...options,
        progress: (bytes, of) => bar.show(Math.floor(bytes / MEGABYTE), Math.ceil(of / MEGABYTE)),
      });
      bar.end();
      const { manifest, ...guarded } = restored;
      const { taken, keyEncryptionKey, withKey } = manifest;
      return {
        value: { folder, dataDir: settings.dataDir, taken, keyEncryptionKey, withKey, ...guarded },
        sentence: restoredSentence(restored, settings.dataDir),
      };
    },
  );
  const counters = program.command('counters').description('what is given out only once');
  printing(
    counters
      .command('advance')
      .description(
        'after a backup of your own PostgreSQL was brought back, and before the gateway starts: move audits, IDs and STANs past what may have been used since',
      )
      .requiredOption('--taken <time>', 'when the backup was taken, or up to when the log was replayed', from)
      .option('--ahead <count>', 'by how many to move audits, customer and token IDs', ahead),
    async (options: { taken: number; ahead?: number }) => {
      const { taken: takenMs, ahead: count } = options;
      const settings = readSettings();
      const admit = (database: Queryable) => admitOnAnySchema(settings, database);
      const guarded = await advanceCounters(settings, admit, { takenMs, ahead: count });
      return { value: guarded, sentence: revivedLines(guarded).join('\n') };
    },
  );
}

function ahead(text: string): number {
  return wholeNumber(text, 2_147_483_647);
}
