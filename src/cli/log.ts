// The log: one JSON object a line, or, on a terminal, one readable line.
import { Writable } from 'node:stream';
import { type DestinationStream, type Logger, pino } from 'pino';

/** Workers write to one pipe, and what is longer than this could be torn apart by what another writes. */
const WHOLE_IN_A_PIPE_BYTES = 4_096;
/** With room for one more line. */
const BLOCK_BYTES = 3_072;

export function makeLog(level: string, { json = false } = {}): Logger {
  const options = {
    level,
    base: null,
    timestamp: () => `,"time":"${new Date().toISOString()}"`,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  if (process.stdout.isTTY && !json) return pino(options, readable());
  // Written in blocks while there is much to say, and at the latest after a moment.
  const blocks = pino.destination({
    dest: 1,
    sync: false,
    minLength: BLOCK_BYTES,
    maxWrite: WHOLE_IN_A_PIPE_BYTES,
    periodicFlush: 200,
  });
  const destination = gathering(blocks);
  process.on('exit', () => {
    try {
      destination.flushSync();
    } catch {
      // Nothing was ever written.
    }
  });
  return pino(options, destination);
}

/** Hands on the lines of one turn of the event loop together: measuring its block anew for each line costs the destination. */
function gathering(blocks: Pick<DestinationStream, 'write'> & { flushSync(): void }) {
  let lines = '';
  const handOn = () => {
    if (lines !== '') blocks.write(lines);
    lines = '';
  };
  return {
    write(line: string) {
      if (lines === '') setImmediate(handOn);
      if (lines.length + line.length > BLOCK_BYTES) handOn();
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
