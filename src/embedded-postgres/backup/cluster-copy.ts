// Copies a cluster's files while its server writes to them, without the files that the server recreates.
import { mkdir, open, readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { syncFolder } from '../../values/whole-file.js';
import { BackupError, errorCode } from '../error.js';
import { copyDurably, forEachFile, writeDurably } from './durable-files.js';
import type { BackedUpFile } from './manifest.js';

/** Folders that a starting server fills itself, or whose content the backup copies separately. */
const EMPTIED = new Set([
  'pg_dynshmem',
  'pg_notify',
  'pg_replslot',
  'pg_serial',
  'pg_snapshots',
  'pg_stat_tmp',
  'pg_subtrans',
  'pg_wal',
]);
const OF_THE_RUNNING_SERVER =
  /^(postmaster\.(pid|opts)|backup_label(\.old)?|tablespace_map|(recovery|standby)\.signal)$/;
const TEMPORARY = /^(pgsql_tmp|pg_internal\.init)/;
const CONTROL = 'global/pg_control';
const SEGMENT = /^[0-9A-F]{24}$/;
const HISTORY = /^[0-9A-F]{8}\.history$/;

export interface CopyReports {
  /** Checked before each file: if the server is gone, the copy is worthless. */
  readonly isServerGone: () => boolean;
  readonly onCopied: (bytes: number) => void;
}

export class ClusterCopy {
  readonly files: BackedUpFile[] = [];
  readonly folders: string[] = [];
  #bytes = 0;

  constructor(
    private readonly from: string,
    private readonly to: string,
    private readonly reports: CopyReports,
  ) {}

  /** Everything except the WAL. */
  async copyFiles(): Promise<void> {
    await mkdir(this.to, { mode: 0o700 });
    await forEachFile(await this.#list(''), (path) => this.#copy(path, true));
    await this.#copyControl();
  }

  /** The WAL from the first segment to the last, and the timeline history files. */
  async copyLog(first: string, last: string): Promise<void> {
    const names = (await readdir(join(this.from, 'pg_wal'))).sort();
    const needed = names.filter((name) => SEGMENT.test(name) && name >= first && name <= last);
    if (needed[0] !== first || needed.at(-1) !== last) {
      throw new BackupError('the WAL that the backup needs has been removed');
    }
    const histories = names.filter((name) => HISTORY.test(name));
    for (const name of [...needed, ...histories]) await this.#copy(`pg_wal/${name}`, false);
  }

  async write(path: string, content: Buffer): Promise<void> {
    this.files.push({ path, ...(await writeDurably(join(this.to, path), content)) });
  }

  async syncFolders(): Promise<void> {
    await forEachFile([...this.folders, ''], (path) => syncFolder(join(this.to, path)));
  }

  async #list(folder: string): Promise<string[]> {
    const paths: string[] = [];
    for (const entry of await readdir(join(this.from, folder), { withFileTypes: true })) {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
      if (OF_THE_RUNNING_SERVER.test(path) || TEMPORARY.test(entry.name) || path === CONTROL) continue;
      // The WAL may lie elsewhere, behind a symbolic link.
      if (entry.isDirectory() || EMPTIED.has(path)) {
        this.folders.push(path);
        await mkdir(join(this.to, path), { mode: 0o700 });
        if (!EMPTIED.has(path)) paths.push(...(await this.#list(path)));
      } else if (entry.isFile()) paths.push(path);
    }
    return paths;
  }

  /** If the server has removed a file in the meantime, replaying the WAL removes it too. */
  async #copy(path: string, mayBeGone: boolean): Promise<void> {
    if (this.reports.isServerGone()) throw new BackupError('PostgreSQL stopped during the backup');
    const source = await open(join(this.from, path), 'r').catch((error) => {
      if (mayBeGone && errorCode(error) === 'ENOENT') return undefined;
      throw error;
    });
    if (source === undefined) return;
    try {
      const copied = await copyDurably(source, join(this.to, path), (await source.stat()).size);
      this.files.push({ path, ...copied });
      this.#bytes += copied.bytes;
      this.reports.onCopied(this.#bytes);
    } finally {
      await source.close();
    }
  }

  /** Written in place and not in the WAL: read until two reads agree. */
  async #copyControl(): Promise<void> {
    const path = join(this.from, CONTROL);
    let seen = await readFile(path);
    for (;;) {
      const again = await readFile(path);
      if (again.equals(seen)) break;
      seen = again;
    }
    await this.write(CONTROL, seen);
  }
}

/** The size of the cluster, without files that a copy leaves out. */
export async function bytesOfCluster(cluster: string): Promise<number> {
  const sizes = await Promise.all(
    (await readdir(cluster, { recursive: true }))
      .filter((path) => !EMPTIED.has(path.split(/[\\/]/)[0] as string))
      .map((path) =>
        stat(join(cluster, path)).then(
          (found) => (found.isFile() ? found.size : 0),
          () => 0,
        ),
      ),
  );
  return sizes.reduce((sum, bytes) => sum + bytes, 0);
}
