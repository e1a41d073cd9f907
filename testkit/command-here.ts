// Runs commands in this process, one at a time, with the words, environment and output of a process of its own. Starting a
// process for each takes most of the time; a few tests do so.
import { runCommand } from '../src/cli/command-line.js';
import type { Ended, Environment } from './gateway-process.js';
import { environmentWithoutSettings } from './project.js';

let last: Promise<unknown> = Promise.resolve();

/** As `run` of `gateway-process.ts`. Not for `serve`, which does not end. */
export function runHere(words: readonly string[], environment: Environment = {}): Promise<Ended> {
  const ended = last.then(() => alone(words, environment));
  last = ended.catch(() => {});
  return ended;
}

async function alone(words: readonly string[], environment: Environment): Promise<Ended> {
  const before = { environment: process.env, exitCode: process.exitCode };
  const [stdout, stderr] = [capture(process.stdout), capture(process.stderr)];
  process.env = { ...environmentWithoutSettings(), NODE_ENV: 'production', ...environment };
  process.exitCode = undefined;
  try {
    const code = (await runCommand(words)) ?? Number(process.exitCode ?? 0);
    return { code, signal: null, stdout: stdout.end(), stderr: stderr.end() };
  } finally {
    stdout.end();
    stderr.end();
    process.env = before.environment;
    process.exitCode = before.exitCode;
  }
}

/** Keeps what is written until it ends, and returns it. */
function capture(stream: NodeJS.WriteStream): { end(): string } {
  const own = Object.getOwnPropertyDescriptor(stream, 'write');
  let text = '';
  stream.write = (written: string | Uint8Array, ...others: unknown[]) => {
    text += typeof written === 'string' ? written : Buffer.from(written).toString();
    const done = others.find((each) => typeof each === 'function');
    if (done) process.nextTick(done as () => void);
    return true;
  };
  return {
    end: () => {
      if (own) Object.defineProperty(stream, 'write', own);
      else Reflect.deleteProperty(stream, 'write');
      return text;
    },
  };
}
