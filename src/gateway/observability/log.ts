// The log: one JSON object a line, or, on a terminal, one readable line.
import { type Logger, pino } from 'pino';
import { isoNow } from '../../values/time.js';
import { LogOutput } from './log-output.js';
import { readableLine } from './readable-line.js';

/** Another process's writes to the same pipe could interleave with anything longer. */
const WHOLE_IN_A_PIPE_BYTES = 4_096;
const LARGE_BLOCK_BYTES = 32_768;

export interface Log {
  readonly log: Logger;
  /** Lines that were dropped because nobody read them in time. */
  readonly linesDropped: () => number;
}

/** `shared`: other processes write to the same place. */
export function makeLog(level: string, { json = false, shared = false } = {}): Log {
  const options = {
    level,
    base: null,
    timestamp: () => `,"time":"${isoNow()}"`,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  if (process.stdout.isTTY && !json) {
    const write = (line: string) => void process.stdout.write(readableLine(line));
    return { log: pino(options, { write }), linesDropped: () => 0 };
  }
  const output = new LogOutput(shared ? WHOLE_IN_A_PIPE_BYTES : LARGE_BLOCK_BYTES);
  process.on('exit', () => output.flushSync());
  return { log: pino(options, output), linesDropped: () => output.totalDropped };
}
