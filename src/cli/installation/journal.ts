// `tollgate journal`: who did what, and whether anybody has changed it.
import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import {
  exportJournal,
  type JournalFilter,
  makeCheckpoint,
  publicKeyOfJournal,
  readCheckpoint,
  readJournal,
  verifyJournal,
} from '../../journal/journal-tasks.js';
import type { Verification } from '../../journal/verification.js';
import { unreadable, writeText, writeWhole } from '../../values/whole-file.js';
import { from, id, until } from '../arguments.js';
import { operate, operateJournal } from '../operator.js';
import { printing } from '../output.js';

interface GivenFilter extends Omit<JournalFilter, 'fromMs' | 'toMs'> {
  readonly from?: number;
  readonly to?: number;
}

function filtered(command: Command): Command {
  return command
    .option('--merchant <id>', 'only of this merchant', id)
    .option('--token <id>', 'only of this token', id)
    .option('--user <name>', 'only what this user or operator did')
    .option('--action <name>', 'only this, such as user.added, or all that begin alike, such as user')
    .option('--from <time>', 'from this day, or instant, on', from)
    .option('--to <time>', 'up to this day, or instant', until);
}

function filterOf({ merchant, token, user, action, from: fromMs, to: toMs }: GivenFilter): JournalFilter {
  return { merchant, token, user, action, fromMs, toMs };
}

export function addJournalCommand(program: Command): void {
  const journal = program.command('journal').description('who did what, and whether anybody has changed it');
  printing(
    filtered(
      journal.command('list', { isDefault: true }).description('show who did what, the newest first'),
    ).option('--limit <count>', 'how many at most', id, 50),
    async ({ limit, ...given }: GivenFilter & { limit: number }) => ({
      rows: await operate((database) => readJournal(database, { ...filterOf(given), limit })),
    }),
  );
  printing(
    journal
      .command('verify')
      .description('find entries that were changed, removed or inserted; exit code 1 if there are any')
      .option('--checkpoint <file>', 'also hold it against a checkpoint that was kept elsewhere'),
    async ({ checkpoint: path }: { checkpoint?: string }) => {
      const text = path === undefined ? undefined : await readFile(path, 'utf8').catch(unreadable(path));
      const found = await operateJournal((database, _, key) =>
        verifyJournal(database, key, text === undefined ? undefined : readCheckpoint(text, key, path ?? '')),
      );
      if (found.problemCount > 0) process.exitCode = 1;
      return { value: found, sentence: sentenceOf(found) };
    },
  );
  printing(
    journal
      .command('checkpoint')
      .description('sign the end of the chain, to be kept elsewhere')
      .option('--out <file>', 'write it to this file'),
    async ({ out }: { out?: string }) => {
      const value = await operateJournal((database, operator, key) =>
        makeCheckpoint(database, operator, key),
      );
      if (out !== undefined) await writeText(out, 'refuse', `${JSON.stringify(value)}\n`);
      const where = out === undefined ? `\n${JSON.stringify(value)}` : ` It is in ${out}.`;
      return { value, sentence: `Block ${value.number} of the journal is signed.${where}` };
    },
  );
  printing(
    filtered(
      journal
        .command('export')
        .description('write entries to a file, the oldest first, with a signature at the end')
        .requiredOption('--out <file>', 'the file, which must not be there yet'),
    ),
    async ({ out, ...given }: GivenFilter & { out: string }) => {
      const written = await operateJournal((database, operator, key) =>
        writeLines(out, exportJournal(database, operator, key, filterOf(given), out)),
      );
      const entries = written - 1;
      return { value: { out, entries }, sentence: `${entries} entries are in ${out}.` };
    },
  );
  printing(
    journal
      .command('key')
      .description('show the public key with which signatures of the journal are checked'),
    async () => {
      const publicKey = await operateJournal(async (_, __, key) => publicKeyOfJournal(key));
      return { value: { publicKey }, sentence: publicKey.trimEnd() };
    },
  );
}

/** The file appears when it is whole, and replaces no other. Returns how many lines are in it. */
async function writeLines(path: string, texts: AsyncIterable<string>): Promise<number> {
  const { result } = await writeWhole(path, 'refuse', async (append) => {
    let lines = 0;
    for await (const text of texts) {
      await append(text);
      lines += text.split('\n').length - 1;
    }
    return lines;
  });
  return result;
}

function sentenceOf({ blocks, entries, unchained, problems, problemCount }: Verification): string {
  const whole = `${entries} entries, ${blocks} blocks.`;
  const notes = unchained > 0 ? [`${unchained} entries are not in the chain yet.`] : [];
  if (problemCount === 0) return [`The journal is whole: ${whole}`, ...notes].join('\n');
  const lines = problems.map(({ entry, block, problem }) =>
    entry === undefined ? `block ${block}: ${problem}` : `entry ${entry}: ${problem}`,
  );
  const more = problemCount > problems.length ? [`and ${problemCount - problems.length} more`] : [];
  const isOnlyLost = problems.every(({ problem }) => problem.startsWith('lost:'));
  const heading = isOnlyLost ? 'THE END OF THE JOURNAL WAS LOST' : 'THE JOURNAL WAS CHANGED';
  return [`${heading}: ${whole}`, ...lines, ...more, ...notes].join('\n');
}
