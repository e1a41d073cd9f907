// Collects what an installation reports: the results of the verifying commands, the errors in the gateways' logs, and their metrics.
import type { Installation, InstalledDatabase } from '../../testkit/installation.js';
import { scrape } from '../../testkit/scrape.js';

const ERROR = 'error';
const METRIC = /seal|journal/;

export interface Reports {
  /** A line for each. */
  readonly lines: readonly string[];
  /** Commands that did not end with exit code 0. */
  readonly failing: readonly string[];
}

/** A gateway whose log is read. */
export interface Watched {
  output(): string;
}

export class Reporting {
  constructor(
    private readonly installation: Installation<InstalledDatabase>,
    private readonly gateways: () => readonly Watched[],
  ) {}

  /** Runs the commands now, and reads the logs from that time on. */
  async since(sinceMs: number): Promise<Reports> {
    const commands = [['keys', 'verify'], ['journal', 'verify'], ['doctor']];
    const results = await Promise.all(commands.map((words) => this.#command(words)));
    return {
      lines: [...results.flatMap(({ lines }) => lines), ...this.#errors(sinceMs)],
      failing: results.filter(({ code }) => code !== 0).map(({ name }) => name),
    };
  }

  async #command(words: readonly string[]) {
    const { code, stdout, stderr } = await this.installation.begun(...words, '--json').ended;
    const name = words.join(' ');
    return {
      name,
      code,
      lines: [...linesIn(stdout), ...(stderr === '' ? [] : [`${name}: ${stderr.trim()}`])],
    };
  }

  #errors(sinceMs: number): string[] {
    return this.gateways().flatMap((gateway) =>
      gateway
        .output()
        .split('\n')
        .flatMap((line) => {
          const told = line.startsWith('{') ? read(line) : undefined;
          return told?.level === ERROR && Date.parse(String(told.time)) >= sinceMs ? [inWords(told)] : [];
        }),
    );
  }
}

/** The sum of the metrics that count broken seals and foreign entries of the journal. */
export async function alarms(urls: readonly string[]): Promise<number> {
  let sum = 0;
  for (const url of urls) {
    const { samples } = await scrape(url);
    for (const { name, value } of samples)
      if (METRIC.test(name) && /broken|foreign|forged/.test(name)) sum += value;
  }
  return sum;
}

type Said = Readonly<Record<string, unknown>>;

function linesIn(stdout: string): string[] {
  const said = read(stdout);
  const found =
    [said?.problems, said?.checks, Array.isArray(said) ? said : undefined].find(Array.isArray) ?? [];
  return (found as Said[]).map(inWords);
}

/** With the names of rows as `keys verify` writes them. */
function inWords(said: Said): string {
  const { table, row, entry, username, subject, request } = said;
  const names = [
    table !== undefined && `${table} ${row}`,
    entry !== undefined && `entry ${entry}`,
    username !== undefined && `user/${username}`,
    subject,
    request !== undefined && `request ${request}`,
  ].filter(Boolean);
  const words = ['where', 'problem', 'msg', 'check', 'found', 'what']
    .map((name) => said[name])
    .filter(Boolean);
  return [...names, ...words].join(': ');
}

function read(text: string): Said | undefined {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
