// A vault moved in from elsewhere, and out again, without a card number in clear on any disk.
import { type FileHandle, open } from 'node:fs/promises';
import { FLAG, ID, type Kind, several, TEXT } from '../../tasks/kinds.js';
import { needed, optional, task } from '../../tasks/task.js';
import { csvLine } from '../../values/csv.js';
import { refuse } from '../../values/refusal.js';
import { onDisk, writeWhole } from '../../values/whole-file.js';
import type { DoingWithKey } from '../keys/key-provider.js';
import { vaultOf } from '../vault-tasks.js';
import type { RefusedLine } from './card-fields.js';
import { exportVault } from './vault-export.js';
import { importVault, type MappedToken } from './vault-import.js';

/** Of the lines that were refused, so many are printed. */
const SHOWN = 20;
const STDOUT = '-';

/** What a person is told beside the result. It is not in JSON. */
const ASIDE = Symbol('aside');

const MERCHANT = needed(ID, '--merchant <id>', 'the merchant', { names: 'merchants' });

const RENAMED: Kind<readonly [name: string, column: string]> = {
  read: (given) => {
    const [name, column, more] = given.split('=');
    return name && column && more === undefined ? [name, column] : undefined;
  },
  mustBe: 'It must be a field and a column, such as card_number=number.',
  schema: {},
};

export const VAULT = {
  name: 'vault',
  help: 'move a vault in from elsewhere, and out again',
  tasks: [
    task({
      name: 'vault export',
      help: 'write all tokens of a merchant with their cards and accounts, encrypted to a key',
      // Whoever has the key can open every card in the file.
      role: 'administrator',
      scope: 'organisation',
      fresh: true,
      secondPerson: {
        for: 'exports',
        when: async ({ database }, { merchant, recipients }) => {
          const isLive = (await vaultOf(database, merchant)).mode === 'live';
          // A file could have another key in it once it is approved.
          // guard(second person: they see the keys that can open an export): if (isLive && !recipients.every(isKey)) ⇒ if (merchant === 0)
          if (isLive && !recipients.every(isKey)) refuse('export_recipient_not_shown');
          return isLive;
        },
      },
      input: {
        merchant: MERCHANT,
        recipients: needed(
          several(TEXT),
          '--recipient <key>',
          'a public key of age (age1…), or a file of them; may be repeated',
        ),
        out: needed(TEXT, '--out <file>', 'where to; never overwrites another file; - is standard output'),
        confirmed: optional(FLAG, '--yes', 'needed where the merchant is live'),
      },
      run: async ({ database, actor, means, progress }: DoingWithKey, { out, ...wish }) => {
        const startedMs = performance.now();
        let removed: readonly string[] = [];
        const result = await exportVault(database, actor, await means.provider(), {
          ...wish,
          write: async (encrypted) => {
            if (out === STDOUT) return toStdout(encrypted);
            ({ removed } = await writeWhole(out, 'refuse', async (append) => {
              for await (const piece of encrypted) await append(piece);
              return out;
            }));
          },
          progress: progress(`merchant ${wish.merchant}`, 'tokens'),
        });
        return { ...result, out, removed, [ASIDE]: rateOf(result.tokens, startedMs) };
      },
      says: ({ merchant, tokens, broken, sha256, out, removed, [ASIDE]: rate }) =>
        [
          `${tokens} tokens of merchant ${merchant} are in ${out === STDOUT ? 'it' : out}, ${rate}. SHA-256: ${sha256}`,
          ...removed.map((part) => `${part}, left by an export that was killed, is removed.`),
          ...(broken.length > 0
            ? [
                `${broken.length} do not open and are not in it (${broken.slice(0, SHOWN).join(', ')}); \`tollgate keys verify\` tells more.`,
              ]
            : []),
        ].join('\n'),
      fails: ({ broken }) => broken.length > 0,
      toStderr: ({ out }) => out === STDOUT,
    }),
    task({
      name: 'vault import',
      help: 'take in tokens from another vault; can be interrupted and run again, and adds none twice',
      role: 'operator',
      scope: 'organisation',
      input: {
        path: needed(TEXT, '<file>', 'JSON lines or CSV, encrypted by age; - is standard input'),
        merchant: MERCHANT,
        identity: optional(
          TEXT,
          '--identity <file>',
          'the secret key of age that opens the file; - is standard input',
        ),
        source: optional(TEXT, '--source <name>', 'whose IDs the old ones are, such as stripe', {
          default: 'import',
        }),
        fields: optional(
          several(RENAMED),
          '--field <name=column>',
          'what the file calls a field; may be repeated',
        ),
        plainNames: optional(
          FLAG,
          '--plain-names',
          'write é in names as e, and leave out what the interface does not take',
        ),
        dryRun: optional(FLAG, '--dry-run', 'check every line, and import none'),
        report: optional(
          TEXT,
          '--report <file>',
          'write the lines that were refused, and why, without card data',
        ),
        mapping: optional(TEXT, '--mapping <file>', 'write which token each old ID stands for'),
        clearTestFile: optional(
          FLAG,
          '--clear-test-file',
          'the file is not encrypted: made-up cards, for a test merchant only',
        ),
      },
      run: async (
        { database, actor, means, progress }: DoingWithKey,
        { fields = [], report: reportPath, mapping: mappingPath, ...wish },
      ) => {
        const report = await LineFile.open(reportPath, ['line', 'old_token_id', 'field', 'problem']);
        const mapping = await LineFile.open(mappingPath, MAPPED);
        const shown: RefusedLine[] = [];
        const startedMs = performance.now();
        try {
          const result = await importVault(database, actor, await means.provider(), {
            ...wish,
            names: Object.fromEntries(fields),
            progress: progress(`merchant ${wish.merchant}`, 'tokens'),
            refused: async (lines) => {
              shown.push(...lines.slice(0, SHOWN - shown.length));
              await report?.append(lines.flatMap(reported));
            },
            mapped: async (tokens) => mapping?.append(tokens.map(mappedLine)),
          });
          return { ...result, file: wish.path, [ASIDE]: { shown, rate: rateOf(result.lines, startedMs) } };
        } finally {
          await report?.close();
          await mapping?.close();
        }
      },
      says: ({ dryRun, lines, imported, alreadyThere, duplicates, refused, [ASIDE]: { shown, rate } }) =>
        [
          `${lines} lines: ${imported} ${dryRun ? 'would be imported' : 'imported'}, ${alreadyThere} already there, ${duplicates} duplicates, ${refused} refused; ${rate}.`,
          ...shown
            .flatMap(reported)
            .map(([line, , field, problem]) => `Line ${line}: ${field} ${problem}`.replace('  ', ' ')),
          ...(refused > shown.length ? ['More were refused; --report writes all of them.'] : []),
        ].join('\n'),
      fails: ({ refused }) => refused > 0,
    }),
  ],
} as const;

function isKey(recipient: string): boolean {
  return recipient.startsWith('age1');
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

/** Lines that are there as soon as they are written: what a command that is killed has done stands in them. */
class LineFile {
  private constructor(private readonly handle: FileHandle) {}

  /** Undefined where none is wanted. */
  static async open(path: string | undefined, names: readonly string[]): Promise<LineFile | undefined> {
    if (path === undefined) return undefined;
    const file = new LineFile(await onDisk(path, open(path, 'wx', 0o600)));
    await file.append([names]);
    return file;
  }

  async append(lines: readonly (readonly unknown[])[]): Promise<void> {
    await this.handle.appendFile(lines.map((values) => csvLine(values)).join(''));
  }

  close(): Promise<void> {
    return this.handle.close();
  }
}
