// The command line: every command, and how one is run and its errors are printed.
import { Command, CommanderError } from 'commander';
import { PROGRAM_VERSION } from '../values/program.js';
import { addAcquirerCommands } from './acquirer.js';
import { addArchiveCommand } from './archive.js';
import { addBackupCommands } from './backup.js';
import { addCardCommands } from './cards.js';
import { addClockCommands } from './clock.js';
import { addDemoCommands } from './demo.js';
import { addDirectDebitCommands } from './directdebit.js';
import { addDistributeCommand } from './distribute.js';
import { addDoctorCommand } from './doctor.js';
import { explain } from './errors.js';
import { addEventCommands } from './event.js';
import { addFigureCommands } from './figures.js';
import { addJournalCommand } from './journal.js';
import { addKeyCommands } from './keys.js';
import { addMerchantCommands } from './merchant.js';
import { addMigrateCommand } from './migrate.js';
import { addOperatorCommands } from './operators.js';
import { addOrganisationCommands } from './organisation.js';
import { wantsJson } from './output.js';
import { addProbeCommand } from './probe.js';
import { addRestoredCommands } from './restored.js';
import { addRouteCommands } from './route.js';
import { addServeCommand } from './serve.js';
import { addSettlementCommands } from './settlement.js';
import { addSurchargeCommands } from './surcharge.js';
import { addTransactionCommands } from './transaction.js';
import { addApprovalCommands } from './transaction-operations.js';
import { addUserCommands } from './user.js';
import { addVaultCommands } from './vault.js';
import { addVaultMovingCommands } from './vault-moving.js';
import { addWebhookCommands } from './webhook.js';

/** Runs one command, and returns the exit code with which it failed or printed only help; undefined if it has done its work. */
export async function runCommand(words: readonly string[]): Promise<number | undefined> {
  try {
    await commands().parseAsync(words, { from: 'user' });
    return undefined;
  } catch (error) {
    // Help and the version are printed, and no errors. Asked for nothing, it has printed help too.
    if (error instanceof CommanderError && (error.exitCode === 0 || error.code === 'commander.help')) {
      return error.exitCode;
    }
    process.stderr.write(
      wantsJson(words)
        ? `${JSON.stringify({ error: explain(error).replaceAll('\n', '; ') })}\n`
        : `tollgate: ${explain(error).replaceAll('\n', '\ntollgate: ')}\n`,
    );
    return 1;
  }
}

/** All of them, none run yet. */
export function commands(): Command {
  const program = new Command('tollgate')
    .description('A payment gateway and customer vault that you run yourself.')
    .version(PROGRAM_VERSION)
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

  // In the order in which `--help` lists them.
  addServeCommand(program);
  addProbeCommand(program);
  addDoctorCommand(program);
  addMigrateCommand(program);
  addDistributeCommand(program);
  addBackupCommands(program, PROGRAM_VERSION);
  addRestoredCommands(program);
  addArchiveCommand(program);
  addOrganisationCommands(program);
  addMerchantCommands(program);
  addUserCommands(program);
  addAcquirerCommands(program);
  addRouteCommands(program);
  addTransactionCommands(program);
  addApprovalCommands(program);
  addVaultCommands(program);
  addVaultMovingCommands(program);
  addClockCommands(program);
  addSurchargeCommands(program);
  addDirectDebitCommands(program);
  addSettlementCommands(program);
  addWebhookCommands(program);
  addKeyCommands(program);
  addCardCommands(program);
  addOperatorCommands(program);
  addJournalCommand(program);
  addEventCommands(program);
  addFigureCommands(program);
  addDemoCommands(program);
  return program;
}
