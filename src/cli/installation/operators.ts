// `tollgate operator`: operators are the people who run the gateway, by name.
import { type Command, Option } from 'commander';
import { consoleUrlOf } from '../../gateway/settings/console-url.js';
import { readSettings } from '../../gateway/settings/settings.js';
import {
  addOperator,
  linkOperator,
  listOperators,
  type OperatorWithLink,
  removeOperator,
  setOperator,
} from '../../operators/operators.js';
import { listSessions, signOutEverywhere } from '../../operators/sessions.js';
import { OPERATOR_ROLES, type OperatorRole } from '../../tasks/task.js';
import { id } from '../arguments.js';
import { operate, operateUsers } from '../operator.js';
import { printing } from '../output.js';

export function addOperatorCommands(program: Command): void {
  const operator = program.command('operator').description('operators are the people who run the gateway');
  printing(
    operator
      .command('add')
      .argument('<name>', 'what the journal calls this person')
      .description('add an operator and print a sign-in link, once; it works for 15 minutes')
      .addOption(
        new Option('--role <role>', 'what this person may do').choices(OPERATOR_ROLES).makeOptionMandatory(),
      )
      .option('--organisation <id>', 'only of this organisation', id),
    async (name: string, { role, organisation }: { role: OperatorRole; organisation?: number }) => {
      const value = await operateUsers((database, actor, key) =>
        addOperator(database, actor, key, consoleUrlOf(readSettings()), name, { role, organisation }),
      );
      return { value, sentence: `Operator ${name} added. ${linkInWords(value)}` };
    },
  );
  printing(operator.command('list').description('list the operators'), async () => ({
    rows: await operateUsers((database, _, key) => listOperators(database, key)),
  }));
  printing(
    operator
      .command('link')
      .argument('<name>', 'the operator')
      .description('print another sign-in link, in place of the one before; it works for 15 minutes'),
    async (name: string) => {
      const value = await operateUsers((database, actor, key) =>
        linkOperator(database, actor, key, consoleUrlOf(readSettings()), name),
      );
      return { value, sentence: linkInWords(value) };
    },
  );
  printing(
    operator.command('remove').argument('<name>', 'the operator').description('remove an operator, for good'),
    async (name: string) => {
      const value = await operateUsers((database, actor, key) => removeOperator(database, actor, key, name));
      return { value, sentence: `Operator ${name} is removed.` };
    },
  );
  addSessionCommands(operator);
}

function addSessionCommands(operator: Command): void {
  printing(
    operator
      .command('set')
      .argument('<name>', 'the operator')
      .description('give an operator another role or organisation; whoever is signed in is signed out')
      .addOption(new Option('--role <role>', 'what this person may do').choices(OPERATOR_ROLES))
      .addOption(
        new Option('--organisation <id>', 'only of this organisation')
          .argParser(id)
          .conflicts('wholeInstallation'),
      )
      .option('--whole-installation', 'of all organisations'),
    async (name: string, given: { role?: OperatorRole; organisation?: number; wholeInstallation?: true }) => {
      const organisation = given.wholeInstallation ? null : given.organisation;
      const value = await operateUsers((database, actor, key) =>
        setOperator(database, actor, key, name, { role: given.role, organisation }),
      );
      return { value, sentence: `Operator ${name} is ${value.role} by now.` };
    },
  );
  printing(
    operator
      .command('sessions')
      .argument('<name>', 'the operator')
      .description('list where an operator is signed in to the console'),
    async (name: string) => ({
      rows: (await operate((database) => listSessions(database, name))).map(
        ({ current: _, ...session }) => session,
      ),
    }),
  );
  printing(
    operator
      .command('sign-out')
      .argument('<name>', 'the operator')
      .description('end all sessions of an operator on the console'),
    async (name: string) => {
      const ended = await operate((database, actor) => signOutEverywhere(database, actor, name));
      return { value: { name, ended }, sentence: `Sessions of ${name} that were ended: ${ended}.` };
    },
  );
}

function linkInWords({ link }: OperatorWithLink): string {
  return `The sign-in link is shown only now, and works once, for 15 minutes: ${link}`;
}
