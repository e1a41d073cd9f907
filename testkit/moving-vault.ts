// Moving a vault: files of made-up cards, encrypted to an age key, and the commands that import and export them.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Decrypter, Encrypter, generateIdentity, identityToRecipient } from 'age-encryption';
import { expect } from 'vitest';
import { luhnDigit } from '../src/values/card.js';
import type { Json } from './client.js';
import { runHere } from './command-here.js';
import { commands, wordsOf } from './commands.js';
import type { TestGateway } from './gateway.js';
import type { Environment } from './gateway-process.js';

export interface Line {
  readonly [field: string]: unknown;
}

let numbers = 0;
export const newName = (kind: string): string => `${kind}_${++numbers}`;

/** A Visa that nobody else has. */
export function newCard(): string {
  const digits = `4539${String(++numbers).padStart(11, '0')}`;
  return digits + luhnDigit(digits);
}

export const newLine = (change: Line = {}): Line => ({
  old_token_id: newName('card'),
  customer_reference: newName('cus'),
  card_number: newCard(),
  expiry: '1239',
  card_name: 'Ada Lovelace',
  ...change,
});

export const jsonLines = (lines: readonly Line[]): string =>
  lines.map((line) => `${JSON.stringify(line)}\n`).join('');

export async function movingDesk(gateway: TestGateway) {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-moving-'));
  const inFolder = (name: string) => join(folder, name);
  const secret = await generateIdentity();
  const recipient = await identityToRecipient(secret);
  const identity = inFolder('key.txt');
  await writeFile(identity, `# made for a test\n${secret}\n`);
  const environment: Environment = {
    DATABASE_URL: gateway.databaseUrl,
    TOLLGATE_DATA_DIR: gateway.dataDir,
  };
  const run = (line: string) => runHere(wordsOf(line), environment);
  const { json, refusal } = commands(run);
  const importing = (path: string, more = '', merchant = 1) =>
    `vault import ${path} --merchant ${merchant} --identity ${identity} ${more}`;

  async function encryptedFile(content: string): Promise<string> {
    const path = inFolder(newName('cards'));
    const encrypter = new Encrypter();
    encrypter.addRecipient(recipient);
    await writeFile(path, await encrypter.encrypt(content));
    return path;
  }

  return {
    environment,
    recipient,
    identity,
    inFolder,
    run,
    json,
    refusal,
    importing,
    encryptedFile,
    fileOf: (...lines: readonly Line[]) => encryptedFile(jsonLines(lines)),
    /** Of an import, with or without refused lines. */
    async imported(path: string, more = '', merchant = 1): Promise<Json> {
      const { stdout, stderr } = await run(`${importing(path, more, merchant)} --json`);
      expect(stderr).toBe('');
      return JSON.parse(stdout);
    },
    found: async (oldId: unknown, merchant = 1): Promise<Json> =>
      (await json(`token find ${oldId} --merchant ${merchant}`))[0],
    pay: async (virtualPan: string, merchant = 1): Promise<string> =>
      (await gateway.api.purchase({ pan: virtualPan, merchant })).body.status?.transaction_status_code,
    /** Of a CSV file, without the names. */
    lines: async (path: string) => (await readFile(path, 'utf8')).split('\r\n').slice(1, -1),
    async opened(path: string): Promise<Line[]> {
      const decrypter = new Decrypter();
      decrypter.addIdentity(secret);
      const clear = await decrypter.decrypt(await readFile(path), 'text');
      return clear
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line));
    },
    close: () => rm(folder, { recursive: true, force: true }),
  };
}
