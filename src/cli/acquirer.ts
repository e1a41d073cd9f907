// `tollgate acquirer`: the links to acquirers over which cards are paid.
import { readFile } from 'node:fs/promises';
import { type Command, InvalidArgumentError } from 'commander';
import {
  type AcquirerChange,
  type AcquirerDetails,
  addAcquirer,
  listAcquirers,
  removeAcquirer,
  setAcquirer,
  showAcquirer,
  testAcquirer,
} from '../admin/acquirers.js';
import { refuse } from '../values/refusal.js';
import { wholeNumber } from './arguments.js';
import { operate, operateWithKey } from './operator.js';
import { lines, outward, printing, table } from './output.js';

const MOST_CONNECTIONS = 32;
const LONGEST_DEADLINE_MS = 120_000;

/** What `add` and `set` take alike. */
interface Given {
  readonly address?: string;
  readonly dialect?: string;
  readonly connections?: number;
  readonly institution?: string;
  readonly deadline?: number;
  readonly macKeyFile?: string;
  readonly mac?: boolean;
  readonly tls?: boolean;
  readonly tlsCaFile?: string;
}

function connections(text: string): number {
  return wholeNumber(text, MOST_CONNECTIONS);
}

function deadline(text: string): number {
  return wholeNumber(text, LONGEST_DEADLINE_MS);
}

function kind(text: string): string {
  if (text !== 'iso8583') throw new InvalidArgumentError('It must be iso8583.');
  return text;
}

function withSettings(command: Command): Command {
  return command
    .option('--dialect <name>', 'how it speaks ISO 8583; as2805 unless another is named')
    .option('--connections <n>', 'how many connections each process keeps', connections)
    .option('--institution <id>', 'the ID of the acquiring institution, for messages')
    .option('--deadline <ms>', 'how long an answer is waited for', deadline)
    .option(
      '--mac-key-file <file>',
      'a file with the MAC key, or with that for sending and that for receiving',
    )
    .option('--tls-ca-file <file>', 'certificates that are trusted in place of the usual ones');
}

export function addAcquirerCommands(program: Command): void {
  const acquirer = program
    .command('acquirer')
    .description('the links to acquirers, over which cards are paid');
  addChanging(acquirer);
  addLooking(acquirer);
}

function addChanging(acquirer: Command): void {
  printing(
    withSettings(
      acquirer
        .command('add')
        .argument('<name>', 'what the link is called')
        .description('add a link; gateways connect within a second or two')
        .requiredOption('--kind <kind>', 'what it speaks: iso8583', kind)
        .requiredOption('--address <host:port>', 'where the host is')
        .option('--test', 'for test merchants; without it the link is live, and stays so')
        .option('--tls', 'with TLS'),
    ),
    async (name: string, options: Given & { address: string; test?: boolean }) => {
      const change = await changeOf(options);
      const wish = { ...change, name, address: options.address, test: options.test };
      const added = await operateWithKey((database, operator, provider) =>
        addAcquirer(database, operator, provider, wish),
      );
      return { value: added, sentence: `Acquirer ${added.name} added, ${added.mode}, at ${added.address}.` };
    },
  );
  printing(
    withSettings(
      acquirer
        .command('set')
        .argument('<name>', 'the link')
        .description('change a link; gateways finish what they have sent, and connect anew')
        .option('--address <host:port>', 'where the host is')
        .option('--no-mac', 'without MACs from now on')
        .option('--tls', 'with TLS')
        .option('--no-tls', 'without TLS'),
    ),
    async (name: string, options: Given, command: Command) => {
      // Commander sets what has a `--no-…` to true where neither was given.
      const given = (option: string) => command.getOptionValueSource(option) === 'cli';
      const change = await changeOf(options);
      const changed = await operateWithKey((database, operator, provider) =>
        setAcquirer(database, operator, provider, name, {
          ...change,
          tls: given('tls') ? options.tls : undefined,
          macKeys: given('mac') ? null : change.macKeys,
        }),
      );
      return { value: changed, sentence: `Acquirer ${changed.name} changed; it is at ${changed.address}.` };
    },
  );
  printing(
    acquirer
      .command('remove')
      .argument('<name>', 'the link')
      .description('remove a link that no merchant pays over, and where nothing is in doubt'),
    async (name: string) => {
      const removed = await operate((database, operator) => removeAcquirer(database, operator, name));
      return { value: removed, sentence: `Acquirer ${removed.name} removed.` };
    },
  );
}

function addLooking(acquirer: Command): void {
  printing(
    acquirer.command('list').description('list the links, and how many gateways are signed on'),
    async () => ({
      rows: await operate((database) => listAcquirers(database)),
    }),
  );
  printing(
    acquirer
      .command('show')
      .argument('<name>', 'the link')
      .description(
        'show a link, the check values of its MAC keys, who pays over it, and which gateways are signed on',
      ),
    async (name: string) => {
      const shown = await operateWithKey((database, operator, provider) =>
        showAcquirer(database, operator, provider, name),
      );
      return { value: shown, sentence: inWords(shown) };
    },
  );
  printing(
    acquirer
      .command('test')
      .argument('<name>', 'the link')
      .description('connect, sign on and echo, beside the gateways, and say how long it took'),
    async (name: string) => {
      const tested = await operateWithKey((database, operator, provider) =>
        testAcquirer(database, operator, provider, name),
      );
      const sentence = `Signed on to ${name} after ${tested.signOnMs} ms; an echo took ${tested.echoMs} ms.`;
      return { value: tested, sentence };
    },
  );
}

/** The gateways as a table below the rest. */
function inWords({ gateways, ...link }: AcquirerDetails): string {
  if (gateways.length === 0) return `${lines(link)}\n\nNo gateway runs.`;
  return `${lines(link)}\n\n${table(gateways.map(outward))}`;
}

async function changeOf(options: Given): Promise<AcquirerChange> {
  const { address, dialect, institution, deadline: deadlineMs, macKeyFile, tls, tlsCaFile } = options;
  const macKeys = macKeyFile === undefined ? undefined : await contentOf(macKeyFile);
  const trusted = tlsCaFile === undefined ? undefined : await contentOf(tlsCaFile);
  return {
    address,
    dialect,
    connections: options.connections,
    institution,
    deadlineMs,
    tls,
    macKeys,
    trusted,
  };
}

async function contentOf(path: string): Promise<string> {
  return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) =>
    refuse('path_not_readable', { path, reason: error.code ?? 'unknown' }),
  );
}
