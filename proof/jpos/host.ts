// A host made of jPOS, in a Java process: compiled from proof/jpos, started, asked for its books, and stopped. Where Java or the jars
// are missing, it says so.
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import { freePort } from '../../testkit/gateway-process.js';
import { PROJECT_ROOT } from '../../testkit/project.js';
import type { HostBooks, TradedHost } from '../arena/link-arena.js';
import { Missing, needed, run } from '../arena/tools.js';

const OURS = join(PROJECT_ROOT, 'proof', 'jpos');

const children = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of children) child.kill('SIGKILL');
});

/** jPOS and its libraries on a class path, with our host compiled beside them. */
export class Jpos {
  private constructor(private readonly classPath: string) {}

  /** Throws `Missing` where something is not there. */
  static async prepare(jars: string, folder: string): Promise<Jpos> {
    if (jars === '') throw new Missing('no folder with the jars of jPOS is named');
    const found = existsSync(jars) ? readdirSync(jars).filter((name) => name.endsWith('.jar')) : [];
    if (!found.some((name) => name.startsWith('jpos-'))) throw new Missing(`${jars} has no jPOS in it`);
    await needed('java', '-version');
    await needed('javac', '-version');
    const libraries = join(jars, '*');
    await run('javac', ['-nowarn', '-cp', libraries, '-d', folder, join(OURS, 'Host.java')]);
    return new Jpos(`${folder}:${libraries}`);
  }

  /** Each message unpacked and packed again, in hexadecimal digits. */
  async repacked(dialect: string, messages: readonly string[]): Promise<string[]> {
    const child = this.#java('repack', packagerOf(dialect));
    child.stdin?.end(`${messages.join('\n')}\n`);
    const lines: string[] = [];
    for await (const line of linesOf(child)) lines.push(line);
    return lines;
  }

  async start(dialect: string, lateMs: number): Promise<JposHost> {
    const port = await freePort();
    const child = this.#java('serve', packagerOf(dialect), dialect, `${port}`, `${lateMs}`);
    const lines = linesOf(child);
    const started = await new Promise<string | undefined>((resolve) => {
      lines.once('line', resolve);
      child.once('close', () => resolve(undefined));
    });
    if (started === undefined) throw new Error('the host on jPOS ended before it listened');
    return new JposHost(child, lines, dialect, port);
  }

  #java(...args: string[]): ChildProcess {
    const child = spawn('java', ['-cp', this.classPath, 'Host', ...args], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    children.add(child);
    child.once('close', () => children.delete(child));
    return child;
  }
}

export class JposHost implements TradedHost {
  constructor(
    private readonly child: ChildProcess,
    private readonly lines: Interface,
    readonly dialect: string,
    readonly port: number,
  ) {}

  get pid(): number {
    return this.child.pid ?? 0;
  }

  async books(): Promise<HostBooks> {
    const said: string[] = [];
    const complete = new Promise<void>((resolve) => {
      const hear = (line: string) => {
        if (line !== 'end') {
          said.push(line);
          return;
        }
        this.lines.off('line', hear);
        resolve();
      };
      this.lines.on('line', hear);
    });
    this.child.stdin?.write('books\n');
    await complete;
    const about = (what: string) =>
      said.filter((line) => line.startsWith(`${what} `)).map((line) => line.slice(what.length + 1));
    const byKey = (what: string) =>
      new Map(
        about(what).map((line) => {
          const [key = '', ...rest] = line.split(' ');
          return [key, rest.join(' ')];
        }),
      );
    return {
      positions: byKey('position'),
      retrievalReferences: byKey('reference'),
      complaints: about('complaint'),
      acknowledged: Number(about('acknowledged')[0]),
    };
  }

  async stop(): Promise<void> {
    const ended = new Promise((resolve) => this.child.once('close', resolve));
    this.child.stdin?.end('stop\n');
    await ended;
  }
}

function packagerOf(dialect: string): string {
  return join(OURS, `${dialect}.xml`);
}

function linesOf({ stdout }: ChildProcess): Interface {
  if (stdout === null) throw new Error('a process without standard output');
  return createInterface({ input: stdout });
}
