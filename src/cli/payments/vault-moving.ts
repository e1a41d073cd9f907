// `tollgate vault`: a vault moved in from elsewhere, and out again, without a card number in clear on any disk.
import { type Command, InvalidArgumentError, Option } from 'commander';
import { writeWhole } from '../../values/whole-file.js';
import type { RefusedLine } from '../../vault/moving/card-fields.js';
import { openCardFile } from '../../vault/moving/card-file.js';
import { exportVault } from '../../vault/moving/vault-export.js';
import { importVault, type MappedToken, type VaultImportResult } from '../../vault/moving/vault-import.js';
import { id, texts } from '../arguments.js';
import { repeatable } from '../contradictions.js';
import { LineFile } from '../csv.js';
import { operateWithKey } from '../operator.js';
import { type Output, printing } from '../output.js';
import { ProgressBar } from '../progress-bar.js';

/** Of the lines that were refused, so many are printed. */
const SHOWN = 20;
const STDOUT = '-';

interface ExportGiven {
  readonly merchant: number;
  readonly recipient: readonly string[];
  readonly out: string;
  readonly yes?: true;
}

interface ImportGiven {
  readonly merchant: number;
  readonly source: string;
  readonly identity?: string;
  readonly field?: Readonly<Record<string, string>>;
  readonly plainNames?: true;
  readonly dryRun?: true;
  readonly report?: string;
  readonly mapping?: string;
  readonly clearTestFile?: true;
}

export function addVaultMovingCommands(program: Command): void {
  const vault = program.command('vault').description('move a vault in from elsewhere, and out again');
  printing(
    vault
      .command('export')
      .description('write all tokens of a merchant with their cards and accounts, encrypted to a key')
      .requiredOption('--merchant <id>', 'the merchant', id)
      .addOption(
        repeatable(
          new Option('--recipient <key>', 'a public key of age (age1…), or a file of them; may be repeated')
            .argParser(texts)
            .makeOptionMandatory(),
        ),
      )
      .requiredOption('--out <file>', 'where to; never overwrites another file; - is standard output')
      .option('--yes', 'needed where the merchant is live'),
    runExport,
  );
  printing(
    vault
      .command('import')
      .argument('<file>', 'JSON lines or CSV, encrypted by age; - is standard input')
      .description('take in tokens from another vault; can be interrupted and run again, and adds none twice')
      .requiredOption('--merchant <id>', 'the merchant', id)
      .option('--identity <file>', 'the secret key of age that opens the file; - is standard input')
      .option('--source <name>', 'whose IDs the old ones are, such as stripe', 'import')
      .addOption(
        repeatable(
          new Option('--field <name=column>', 'what the file calls a field; may be repeated').argParser(
            renamed,
          ),
        ),
      )
      .option('--plain-names', 'write é in names as e, and leave out what the interface does not take')
      .option('--dry-run', 'check every line, and import none')
      .option('--report <file>', 'write the lines that were refused, and why, without card data')
      .option('--mapping <file>', 'write which token each old ID stands for')
      .option('--clear-test-file', 'the file is not encrypted: made-up cards, for a test merchant only'),
    runImport,
  );
}

async function runExport({ merchant, recipient, out, yes }: ExportGiven): Promise<Output> {
  const bar = new ProgressBar(`merchant ${merchant}`, 'tokens');
  const startedMs = performance.now();
  let removed: readonly string[] = [];
  const result = await operateWithKey((database, operator, provider) =>
    exportVault(database, operator, provider, {
      merchant,
      recipients: recipient,
      confirmed: yes === true,
      write: async (encrypted) => {
        if (out === STDOUT) await toStdout(encrypted);
        else
          ({ removed } = await writeWhole(out, 'refuse', async (append) => {
            for await (const piece of encrypted) await append(piece);
            return out;
          }));
      },
      progress: (done, total) => bar.show(done, total),
    }),
  );
  bar.end();
  const { tokens, broken, sha256 } = result;
  const rate = rateOf(tokens, startedMs);
  const sentences = [
    `${tokens} tokens of merchant ${merchant} are in ${out === STDOUT ? 'it' : out}, ${rate}. SHA-256: ${sha256}`,
    ...removed.map((part) => `${part}, left by an export that was killed, is removed.`),
  ];
  if (broken.length > 0) {
    process.exitCode = 1;
    const numbers = broken.slice(0, SHOWN).join(', ');
    sentences.push(
      `${broken.length} do not open and are not in it (${numbers}); \`tollgate keys verify\` tells more.`,
    );
  }
  return { value: { ...result, out, removed }, sentence: sentences.join('\n'), toStderr: out === STDOUT };
}

async function runImport(path: string, given: ImportGiven): Promise<Output> {
  const { merchant, source, identity, field, plainNames, dryRun, clearTestFile } = given;
  const bar = new ProgressBar(`merchant ${merchant}`, 'tokens');
  const report = await LineFile.open(given.report, ['line', 'old_token_id', 'field', 'problem']);
  const mapping = await LineFile.open(given.mapping, MAPPED);
  const shown: RefusedLine[] = [];
  const startedMs = performance.now();
  try {
    const result = await operateWithKey((database, operator, provider) =>
      importVault(database, operator, provider, {
        merchant,
        source,
        open: (mode) =>
          openCardFile({ path, identity, mayBeClear: clearTestFile === true && mode === 'test' }),
        names: field ?? {},
        plainNames: plainNames === true,
        dryRun: dryRun === true,
        progress: (lines, read, total) =>
          bar.show(lines, total && Math.max(lines, Math.round((lines * total) / Math.max(read, 1)))),
        refused: async (lines) => {
          shown.push(...lines.slice(0, SHOWN - shown.length));
          await report?.append(lines.flatMap(reported));
        },
        mapped: async (tokens) => mapping?.append(tokens.map(mappedLine)),
      }),
    );
    bar.end();
    if (result.refused > 0) process.exitCode = 1;
    const sentence = sentencesOn(result, shown, rateOf(result.lines, startedMs)).join('\n');
    return { value: { ...result, file: path }, sentence };
  } finally {
    await report?.close();
    await mapping?.close();
  }
}

function sentencesOn(result: VaultImportResult, shown: readonly RefusedLine[], rate: string): string[] {
  const { dryRun, lines, imported, alreadyThere, duplicates, refused } = result;
  return [
    `${lines} lines: ${imported} ${dryRun ? 'would be imported' : 'imported'}, ${alreadyThere} already there, ${duplicates} duplicates, ${refused} refused; ${rate}.`,
    ...shown
      .flatMap(reported)
      .map(([line, , field, problem]) => `Line ${line}: ${field} ${problem}`.replace('  ', ' ')),
    ...(refused > shown.length ? ['More were refused; --report writes all of them.'] : []),
  ];
}

function reported({ line, oldTokenId, problems }: RefusedLine): unknown[][] {
  return problems.map(({ field, problem }) => [line, oldTokenId, field, problem]);
}

const MAPPED = ['old_token_id', 'customer_id', 'token_id', 'virtual_pan', 'result'];

function mappedLine({ oldTokenId, customerId, tokenId, virtualPan, ending }: MappedToken): unknown[] {
  return [oldTokenId, customerId, tokenId, virtualPan, ending];
}

function rateOf(count: number, startedMs: number): string {
  const seconds = Math.max((performance.now() - startedMs) / 1000, 0.001);
  return `${seconds.toFixed(1)} s, ${Math.round(count / seconds)} a second`;
}

/** Pauses while whoever reads it does. */
async function toStdout(encrypted: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const piece of encrypted) {
    await new Promise<void>((resolve, reject) => {
      process.stdout.write(piece, (error) => (error ? reject(error) : resolve()));
    });
  }
}

function renamed(text: string, earlier: Readonly<Record<string, string>> = {}): Record<string, string> {
  const [name, column, more] = text.split('=');
  if (!name || !column || more !== undefined)
    throw new InvalidArgumentError('It must be a field and a column, such as card_number=number.');
  return { ...earlier, [name]: column };
}
