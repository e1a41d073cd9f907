// Folders of proofs and benches, which are removed when the program ends.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export function temporaryFolder(name: string): string {
  const folder = mkdtempSync(join(tmpdir(), `tollgate-${name}-`));
  process.once('exit', () => leaveNothing(folder));
  return folder;
}

/** At the end of the program, which waits for nothing. Its processes are ended by whoever started them. */
export function leaveNothing(directory: string): void {
  try {
    const file = readFileSync(join(directory, 'postgres', 'postmaster.pid'), 'utf8');
    process.kill(Number.parseInt(file, 10), 'SIGQUIT');
  } catch {
    // It is not running.
  }
  rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
}
