// Searches for secrets where there must be none: in texts, in every row of a database, and in the files of its server.
import { createHash } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestGateway } from './gateway.js';

/** The digits as they are, as hexadecimal, and as they look inside any base64 text. */
export function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret);
  const inBase64 = [0, 1, 2].map((before) => {
    const encoded = Buffer.concat([Buffer.alloc(before), bytes]).toString('base64');
    // Only the characters made from the secret alone, whatever surrounds it.
    return encoded.slice(Math.ceil((before * 8) / 6), Math.floor(((before + bytes.length) * 8) / 6));
  });
  return [secret, bytes.toString('hex'), ...inBase64];
}

/** What bare hashes of it look like. */
export function hashesOf(secret: string): string[] {
  return ['md5', 'sha1', 'sha256', 'sha512'].flatMap((algorithm) => {
    const digest = createHash(algorithm).update(secret).digest();
    return [
      digest.toString('hex'),
      digest.toString('base64').replace(/=+$/, ''),
      digest.toString('base64url'),
    ];
  });
}

/** So many characters usually rule out everything that begins with them. */
const BEGINNING = 7;

/** Which of these occur. Quick for common prefixes, which are searched for first. */
export function foundIn(content: string | Buffer, wanted: readonly string[]): string[] {
  const beginnings = new Map<string, boolean>();
  return wanted.filter((one) => {
    const beginning = one.slice(0, BEGINNING);
    const isThere = beginnings.get(beginning) ?? content.includes(beginning);
    beginnings.set(beginning, isThere);
    return isThere && content.includes(one);
  });
}

const UUID = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

/** Which of these few digits occur as separate values, and not inside a longer number, fraction, identifier or mask. */
export function valuesIn(text: string, wanted: ReadonlySet<string>): string[] {
  const values = text.replaceAll(UUID, '').match(/(?<![0-9A-Za-z.*])[0-9]{3,4}(?![0-9A-Za-z])/g) ?? [];
  return values.filter((value) => wanted.has(value));
}

/** PostgreSQL's transaction IDs and the system's process IDs may look like a CVV. */
function withoutChance(table: string, row: string): string {
  const withoutSnapshots = row.replaceAll(/\b\d+:\d+:[\d,]*/g, '');
  if (table === 'process') return withoutSnapshots.replace(`,${process.pid},`, ',,');
  return table === 'event' ? withoutSnapshots.replace(/^\(\d+/, '(') : withoutSnapshots;
}

/** Every row of every table as text; binary columns show as hexadecimal. */
export async function rowsOf({ sql }: Pick<TestGateway, 'sql'>): Promise<string[]> {
  const tables = await sql<{ name: string }>(
    // What is in a partition is in its table.
    `SELECT quote_ident(relname) AS name FROM pg_class
     WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition`,
  );
  const selects = tables.map(({ name }) => `SELECT '${name}' AS name, t::text AS row FROM ${name} t`);
  const rows = await sql<{ name: string; row: string }>(selects.join(' UNION ALL '));
  return rows.map(({ name, row }) => `${name} ${withoutChance(name, row)}`);
}

async function filesUnder(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

/** The files that contain one of these. A file that the server removed meanwhile contains nothing. */
async function holding(paths: readonly string[], wanted: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const path of paths) {
    const content = await readFile(path).catch(() => Buffer.alloc(0));
    if (foundIn(content, wanted).length > 0) found.push(path);
  }
  return found;
}

/** The time of a file may lag behind the clock by some of its steps. */
const CLOCK_STEP_MS = 1_000;

export class ServerFiles {
  private constructor(
    private readonly folder: string,
    private readonly gateway: TestGateway,
    private readonly sinceMs: number,
  ) {}

  /** From now on. */
  static watch(folder: string, gateway: TestGateway): ServerFiles {
    return new ServerFiles(folder, gateway, Date.now() - CLOCK_STEP_MS);
  }

  /**
   * The write-ahead log holds commits since the last checkpoint. A checkpoint renames older files and leaves their content: the
   * time of writing decides whether a file counts, not its name.
   */
  async inWriteAheadLog(wanted: readonly string[]): Promise<string[]> {
    const names = await readdir(join(this.folder, 'postgres/pg_wal'));
    const paths = names
      .filter((name) => /^[0-9A-F]{24}$/.test(name))
      .map((name) => join(this.folder, 'postgres/pg_wal', name));
    const writtenMs = await Promise.all(
      paths.map((path) =>
        stat(path).then(
          ({ mtimeMs }) => mtimeMs,
          () => 0,
        ),
      ),
    );
    return holding(
      paths.filter((_, index) => (writtenMs[index] as number) >= this.sinceMs),
      wanted,
    );
  }

  /** The files of the gateway's own database, after everything was written to them. */
  async inDataFiles(wanted: readonly string[]): Promise<string[]> {
    await this.gateway.sql('CHECKPOINT');
    const [row] = await this.gateway.sql<{ oid: string }>(
      'SELECT oid::text FROM pg_database WHERE datname = current_database()',
    );
    return holding(await filesUnder(join(this.folder, 'postgres/base', row?.oid as string)), wanted);
  }

  async inServerLog(wanted: readonly string[]): Promise<string[]> {
    return holding([join(this.folder, 'postgres.log')], wanted);
  }
}

/** The gateway's own files: its key and the simulated acquirer's ledger. */
export async function inGatewayFiles(folder: string, wanted: readonly string[]): Promise<string[]> {
  return holding(await filesUnder(folder), wanted);
}
