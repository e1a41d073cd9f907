// The log: one JSON object a line, or, on a terminal, one readable line.
import { Writable } from 'node:stream';
import { type DestinationStream, type Logger, pino } from 'pino';

/** What is longer could be torn apart in a pipe by what another process writes to it. */
const WHOLE_IN_A_PIPE_BYTES = 4_096;
const LONGEST_WRITE_BYTES = 32_768;
const ROOM_FOR_A_LINE_BYTES = 1_024;

/** `shared`: other processes write to the same place. */
export function makeLog(level: string, { json = false, shared = false } = {}): Logger {
  const options = {
    level,
    base: null,
    timestamp: timestamps(),
    formatters: { level: (label: string) => ({ level: label }) },
  };
  if (process.stdout.isTTY && !json) return pino(options, readable());
  // Written in blocks while there is much to say, and at the latest after a moment.
  const maxWrite = shared ? WHOLE_IN_A_PIPE_BYTES : LONGEST_WRITE_BYTES;
  const minLength = maxWrite - ROOM_FOR_A_LINE_BYTES;
  const blocks = pino.destination({ dest: 1, sync: false, minLength, maxWrite, periodicFlush: 200 });
  const destination = gathering(blocks, minLength);
  process.on('exit', () => {
    try {
      destination.flushSync();
    } catch {
      // Nothing was ever written.
    }
  });
  return pino(options, destination);
}

/** Many lines are of the same millisecond. */
function timestamps(): () => string {
  let atMs = 0;
  let member = '';
  return () => {
    const nowMs = Date.now();
    if (nowMs !== atMs) member = `,"time":"${new Date(nowMs).toISOString()}"`;
    atMs = nowMs;
    return member;
  };
}

/** Hands on the lines of one turn of the event loop together: measuring its block anew for each line costs the destination. */
function gathering(blocks: Pick<DestinationStream, 'write'> & { flushSync(): void }, mostBytes: number) {
  let lines = '';
  const handOn = () => {
    if (lines !== '') blocks.write(lines);
    lines = '';
  };
  return {
    write(line: string) {
      if (lines === '') setImmediate(handOn);
      if (lines.length + line.length > mostBytes) handOn();
      lines += line;
    },
    flushSync() {
      handOn();
      blocks.flushSync();
    },
  };
}

const COLOURS: Readonly<Record<string, string>> = { info: '32', warn: '33', error: '31' };

function readable(): Writable {
  return new Writable({
    write(chunk: Buffer, _encoding, done) {
      const { level, time, msg, ...rest } = JSON.parse(chunk.toString()) as Record<string, unknown>;
      const fields = Object.entries(rest).map(([name, value]) =>
        typeof value === 'object' ? `${name}=${JSON.stringify(value)}` : `${name}=${value}`,
      );
      const colour = COLOURS[String(level)] ?? '36';
      process.stdout.write(
        `${String(time).slice(11, 23)} \u001b[${colour}m${level}\u001b[0m ${msg} ${fields.join(' ')}\n`,
      );
      done();
    },
  });
}
