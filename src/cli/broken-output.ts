// What becomes of a command whose output cannot be written: `tollgate … | head` has read enough, a disk may be full. A gateway that
// serves goes on without anybody who reads.

/** As a shell shows it of a program that has ended because nobody reads any more. */
const NOBODY_READS = 141;

let serving = false;

/** From now on output that cannot be written is no reason to end. */
export function outputMayBreak(): void {
  serving = true;
}

export function endOnBrokenOutput(): void {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', broken);
}

function broken({ code }: NodeJS.ErrnoException): void {
  if (serving) return;
  if (code === 'EPIPE') process.exit(NOBODY_READS);
  try {
    process.stderr.write(`tollgate: the output cannot be written (${code})\n`);
  } finally {
    process.exit(1);
  }
}
