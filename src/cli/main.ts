// The command line: the only entry point.
import { readFileSync } from 'node:fs';
import { Command, CommanderError, Option } from 'commander';
import { Administration } from '../admin/merchants.js';
import { connect, isForOperator, reasonOf, withDatabase } from '../gateway/connection.js';
import { readSettings } from '../gateway/settings.js';
import { Database, DatabaseUnavailable } from '../postgres/database.js';
import { migrate } from '../postgres/migrations.js';
import { advanceClock, ClockError, resetClock, showClock } from '../transactions/clock-administration.js';
import { AdministrationError } from '../values/administration-error.js';
import { sydneyTimestamp } from '../values/sydney.js';
import { KeyUnavailable } from '../vault/key-provider.js';
import { RotationError } from '../vault/rotation.js';
import { days, duration, id, ids } from './arguments.js';
import { addDirectDebitCommands } from './directdebit.js';
import { addJournalCommand } from './journal.js';
import { addKeyCommands } from './keys.js';
import { operator } from './operator.js';
import { print, printTable } from './output.js';
import { addSurchargeCommands } from './surcharge.js';

const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string;
};
/** The acquirers that move no money: where a merchant has no other, the clock may be moved. */
const SIMULATED = ['simulator'];

const program = new Command('tollgate')
  .description('A payment gateway and customer vault that you run yourself.')
  .version(version)
  // What is wrong with a command line is told in one line, like every other error: see `explain`.
  .configureOutput({ outputError: () => {} })
  .exitOverride()
  // `tollgate --version` is the gateway's, `keys destroy --version` a data key's.
  .enablePositionalOptions()
  .addHelpText(
    'after',
    `
Settings are environment variables (DATABASE_URL, TOLLGATE_DATA_DIR, TOLLGATE_PORT, …); see docs/operations.md.
Without DATABASE_URL the commands work on the PostgreSQL in ./data, whether the gateway is running or not.`,
  );

const json = () => new Option('--json', 'print JSON, errors too');
const administer = <Result>(work: (administration: Administration) => Promise<Result>): Promise<Result> =>
  withDatabase(readSettings(), (database) => work(new Administration(database, operator())));

program
  .command('serve')
  .description('run the gateway')
  .addOption(json())
  .action(async (options) => {
    const settings = readSettings();
    // Loaded only here: the other commands need neither the HTTP server nor the calendar, and start in half the time.
    const { serve } = await import('../gateway/serve.js');
    await serve(settings, options);
  });

program
  .command('migrate')
  .description('bring the schema of the database up to date')
  .addOption(json())
  .action(async (options) => {
    const connection = await connect(readSettings());
    const database = new Database(connection.url, { maxConnections: 1, patient: true });
    try {
      const applied = await migrate(database);
      print(
        options,
        { applied },
        applied.length === 0 ? 'The schema is current.' : `Applied ${applied.join(', ')}.`,
      );
    } finally {
      await database.close();
      await connection.close();
    }
  });

const organisation = program.command('organisation').description('organisations own merchants and users');
organisation
  .command('add')
  .argument('<name>', 'what it is called')
  .description('add an organisation')
  .addOption(json())
  .action(async (name: string, options) => {
    const added = await administer((administration) => administration.addOrganisation(name));
    print(options, added, `Organisation ${added.id} (${added.name}) added.`);
  });
organisation
  .command('list')
  .description('list the organisations')
  .addOption(json())
  .action(async (options) =>
    printTable(options, await administer((administration) => administration.organisations())),
  );

const merchant = program.command('merchant').description('merchants are who payments are for');
merchant
  .command('add')
  .argument('<name>', 'what it is called')
  .description('add a merchant')
  .requiredOption('--organisation <id>', 'the organisation that owns it', id)
  .option('--vault', 'with the vault product')
  .option('--live', 'for real payments, by live links only; without it the merchant is test, and stays so')
  .option('--preauthorisation-days <days>', 'how long a preauthorisation can be completed', days, 7)
  .addOption(json())
  .action(async (name: string, options) => {
    const added = await administer((administration) =>
      administration.addMerchant(options.organisation, name, options),
    );
    print(options, added, `Merchant ${added.id} (${added.name}) added, ${added.mode}.`);
  });
merchant
  .command('list')
  .description('list the merchants')
  .option('--organisation <id>', 'only of this organisation', id)
  .addOption(json())
  .action(async (options) =>
    printTable(options, await administer((administration) => administration.merchants(options.organisation))),
  );
merchant
  .command('set')
  .argument('<id>', 'the merchant', id)
  .description('change a merchant')
  .option('--vault', 'give it the vault product')
  .option('--no-vault', 'take the vault product away')
  .option('--name <name>', 'rename it')
  .option('--preauthorisation-days <days>', 'how long a preauthorisation can be completed', days)
  .addOption(json())
  .action(async (merchantId: number, options, command: Command) => {
    // Commander sets `vault` to true where `--no-vault` exists and neither was given.
    const vault = command.getOptionValueSource('vault') === 'cli' ? options.vault : undefined;
    const changed = await administer((administration) =>
      administration.setMerchant(merchantId, { ...options, vault }),
    );
    print(
      options,
      changed,
      `Merchant ${changed.id} (${changed.name}) ${changed.vault ? 'has' : 'does not have'} the vault.`,
    );
  });

const user = program
  .command('user')
  .description('users are what a merchant’s backend server calls the API as');
user
  .command('add')
  .argument('<username>', 'what it calls itself in each request')
  .description('add a user and print its secret, once')
  .requiredOption('--merchant <id>', 'the merchant that it is assigned to', id)
  .option('--grant <id>', 'a further merchant of the same organisation (may be repeated)', ids)
  .addOption(json())
  .action(async (username: string, options) => {
    const added = await administer((administration) =>
      administration.addUser(username, options.merchant, options.grant),
    );
    print(options, added, `User ${username} added. The secret is shown only now: ${added.password}`);
  });
user
  .command('list')
  .description('list the users')
  .addOption(json())
  .action(async (options) =>
    printTable(options, await administer((administration) => administration.users())),
  );
user
  .command('grant')
  .argument('<username>', 'the user')
  .argument('<merchant>', 'a merchant of the same organisation', id)
  .description('let a user act for a further merchant')
  .addOption(json())
  .action(async (username: string, merchantId: number, options) => {
    const granted = await administer((administration) => administration.grant(username, merchantId));
    print(options, granted, `User ${username} may act for merchant ${merchantId}.`);
  });
user
  .command('rotate')
  .argument('<username>', 'the user')
  .description('give a user a new secret and print it, once; the old one is refused within two seconds')
  .addOption(json())
  .action(async (username: string, options) => {
    const rotated = await administer((administration) => administration.rotate(username));
    print(options, rotated, `The secret of ${username} is shown only now: ${rotated.password}`);
  });
user
  .command('revoke')
  .argument('<username>', 'the user')
  .description('refuse a user for good, within two seconds')
  .addOption(json())
  .action(async (username: string, options) => {
    const revoked = await administer((administration) => administration.revoke(username));
    print(options, revoked, `User ${username} is revoked.`);
  });

const clock = program
  .command('clock')
  .description(
    "the gateway's clock, which can be moved where every acquirer is simulated and no merchant is live",
  );
clock
  .command('show')
  .description('show the time and how far it is advanced')
  .addOption(json())
  .action(async (options) => {
    const { nowMs, advancedMs } = await withDatabase(readSettings(), (database) =>
      showClock(database, SIMULATED),
    );
    printClock(options, nowMs, advancedMs);
  });
clock
  .command('advance')
  .argument('<duration>', 'for example 3d, 12h, 30m or 45s', duration)
  .description('move every process of the gateway forward')
  .addOption(json())
  .action(async (byMs: number, options) => {
    const { nowMs, advancedMs } = await withDatabase(readSettings(), (database) =>
      advanceClock(database, SIMULATED, byMs, operator()),
    );
    printClock(options, nowMs, advancedMs);
  });

clock
  .command('reset')
  .description('back to real time, if nothing has happened that would be in the future then')
  .addOption(json())
  .action(async (options) => {
    const { nowMs, advancedMs } = await withDatabase(readSettings(), (database) =>
      resetClock(database, SIMULATED, operator()),
    );
    printClock(options, nowMs, advancedMs);
  });

addSurchargeCommands(program);
addDirectDebitCommands(program);
addKeyCommands(program);
addJournalCommand(program);

function printClock(options: { json?: boolean }, nowMs: number, advancedMs: number): void {
  const now = sydneyTimestamp(nowMs);
  print(
    options,
    { now, advancedMs },
    `It is ${now} in Sydney, ${advancedMs / 1000} seconds ahead of real time.`,
  );
}

function explain(error: unknown): string {
  if (error instanceof CommanderError) {
    return `${error.message.replace(/^error: /, '').replaceAll('\n', ' ')} (tollgate --help shows the commands)`;
  }
  if (
    isForOperator(error) ||
    error instanceof AdministrationError ||
    error instanceof ClockError ||
    error instanceof RotationError ||
    error instanceof KeyUnavailable
  )
    return error.message;
  if (error instanceof DatabaseUnavailable) return `${error.message} (${reasonOf(error)})`;
  return (error as Error).stack ?? String(error);
}

try {
  await program.parseAsync();
} catch (error) {
  // Help and the version are printed, and no errors. Asked for nothing, it has printed help too.
  if (error instanceof CommanderError && (error.exitCode === 0 || error.code === 'commander.help')) {
    process.exit(error.exitCode);
  }
  const wantsJson = process.argv.includes('--json');
  process.stderr.write(
    wantsJson
      ? `${JSON.stringify({ error: explain(error).replaceAll('\n', '; ') })}\n`
      : `tollgate: ${explain(error).replaceAll('\n', '\ntollgate: ')}\n`,
  );
  process.exit(1);
}
