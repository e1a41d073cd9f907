// `tollgate acquirer`: the links to acquirers over which cards are paid.
import { readFile } from 'node:fs/promises';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { type AcquirerChange, DEFAULTS, LIMITS } from '../../acquirers/acquirer-rules.js';
import {
  type AcquirerDetails,
  addAcquirer,
  listAcquirers,
  removeAcquirer,
  setAcquirer,
  showAcquirer,
  testAcquirer,
  unseenOrders,
} from '../../acquirers/acquirer-tasks.js';
import { DEFAULT_DIALECT, DIALECT_NAMES } from '../../acquirers/iso8583/dialects/dialects.js';
import { lines, table } from '../../values/text-table.js';
import { unreadable } from '../../values/whole-file.js';
import { operate, operateWithKey } from '../operator.js';
import { printing } from '../output.js';

/** What `add` and `set` take alike. */
interface Given {
  readonly address?: string;
  readonly dialect?: string;
  readonly connections?: number;
  readonly institution?: string | boolean;
  readonly deadline?: number;
  readonly macKeyFile?: string;
  readonly mac?: boolean;
  readonly tls?: boolean;
  readonly tlsCaFile?: string | boolean;
}

/** What is none is told with everything else that is wrong. */
function number(text: string): number {
  return /^[0-9]+$/.test(text) ? Number(text) : Number.NaN;
}

function kind(text: string): string {
  if (text !== 'iso8583') throw new InvalidArgumentError('It must be iso8583.');
  return text;
}

/** `fresh`: of a link that has no settings yet. */
function withSettings(command: Command, { fresh }: { readonly fresh: boolean }): Command {
  const unless = (value: string | number) => (fresh ? ` (default: ${value})` : '');
  const range = ([least, most]: readonly [number, number]) => `${least} to ${most}`;
  const { connections, deadlineMs } = LIMITS;
  return command
    .option(
      '--dialect <name>',
      `how it spells ISO 8583: ${DIALECT_NAMES.join(', ')}${unless(DEFAULT_DIALECT)}`,
    )
    .option(
      '--connections <n>',
      `how many connections each gateway process keeps, ${range(connections)}${unless(DEFAULTS.connections)}`,
      number,
    )
    .option('--institution <id>', 'the acquiring institution, field 32 of messages: up to 11 digits')
    .option(
      '--deadline <ms>',
      `how long to wait for an answer, ${range(deadlineMs)}${unless(DEFAULTS.deadlineMs)}`,
      number,
    )
    .addOption(
      new Option(
        '--mac-key-file <file>',
        'a file with the MAC key, 32 hexadecimal digits, or with one for sending and one for receiving',
      ).conflicts('mac'),
    )
    .option('--tls-ca-file <file>', 'a file with certificates in PEM, trusted in place of the usual ones');
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
        .option('--tls', 'connect with TLS'),
      { fresh: true },
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
        .option('--no-mac', 'send and expect no MACs any more')
        .option('--no-institution', 'send no institution any more')
        .option('--tls', 'connect with TLS')
        .option('--no-tls', 'connect without TLS')
        .option('--no-tls-ca-file', 'trust the usual certificates again'),
      { fresh: false },
    ),
    async (name: string, options: Given) => {
      const change = await changeOf(options);
      const changed = await operateWithKey((database, operator, provider) =>
        setAcquirer(database, operator, provider, name, change),
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
    acquirer.command('list').description('list the links, whether each is up, since when not, and why not'),
    async () => {
      const listed = await operate((database) => listAcquirers(database));
      // How it does comes first: the table is wide.
      const rows = listed.map(({ name, condition, since, reason, ...settings }) => {
        return { name, condition, since, reason, ...settings };
      });
      return { rows };
    },
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
      .command('unseen')
      .argument('[name]', 'the link (default: all of them)')
      .description(
        'list what a host had never seen when its reversal was acknowledged: look for these in the acquirer’s own books',
      ),
    async (name: string | undefined) => ({
      rows: await operate((database) => unseenOrders(database, name)),
    }),
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
  return `${lines(link)}\n\n${table(gateways)}`;
}

async function changeOf(options: Given): Promise<AcquirerChange> {
  const { address, dialect, connections, deadline: deadlineMs, macKeyFile, mac, tls } = options;
  return {
    address,
    dialect,
    connections,
    institution: wished(options.institution),
    deadlineMs,
    tls,
    macKeys: await contentOf(mac === false ? null : macKeyFile),
    trusted: await contentOf(wished(options.tlsCaFile)),
  };
}

/** Null where it is to be taken away. Commander says true where an option has a `--no-…` and neither was given. */
function wished(value: string | boolean | undefined): string | null | undefined {
  if (typeof value === 'string') return value;
  return value === false ? null : undefined;
}

/** Of the file, if there is one. */
async function contentOf(path: string | null | undefined): Promise<string | null | undefined> {
  if (path === null || path === undefined) return path;
  return readFile(path, 'utf8').catch(unreadable(path));
}
