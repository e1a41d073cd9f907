// The command line: every command, and how one is run and its errors are printed.
import { Command, CommanderError } from 'commander';
import { type Means, TASK_GROUPS } from '../console/all-tasks.js';
import { MOVE } from '../gateway/fleet/move-task.js';
import { GATEWAY_GROUPS } from '../gateway/gateway-tasks.js';
import { readSettings } from '../gateway/settings/settings.js';
import type { TaskGroup } from '../tasks/task.js';
import { PROGRAM_VERSION } from '../values/program.js';
import { outputMayBreak } from './broken-output.js';
import { explain } from './errors.js';
import { jsonOption, wantsJson } from './output.js';
import { addTasks } from './task-commands.js';

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
  addServe(program);
  for (const group of [...GATEWAY_GROUPS, ...TASK_GROUPS]) addTasks(program, withMove(group));
  return program;
}

function addServe(program: Command): void {
  program
    .command('serve')
    .description('run the gateway')
    .addOption(jsonOption())
    .action(async (options) => {
      const settings = readSettings();
      // Loaded only here: the other commands need neither the HTTP server nor the calendar, and start in half the time.
      const { serve } = await import('../gateway/serve.js');
      outputMayBreak();
      await serve(settings, options);
    });
}

/** Moving an organisation takes two cells of the fleet, which the console does not reach. */
function withMove(group: TaskGroup<Means>): TaskGroup<Means> {
  return group.name === 'organisation' ? { ...group, tasks: [...group.tasks, MOVE] } : group;
}
