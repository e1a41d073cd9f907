// `tollgate organisation`: organisations own merchants and users.
import type { Command } from 'commander';
import { addOrganisation, listOrganisations } from '../../organisations/organisations.js';
import { operate } from '../operator.js';
import { printing } from '../output.js';

export function addOrganisationCommands(program: Command): void {
  const organisation = program.command('organisation').description('organisations own merchants and users');
  printing(
    organisation.command('add').argument('<name>', 'what it is called').description('add an organisation'),
    async (name: string) => {
      const added = await operate((database, operator) => addOrganisation(database, operator, name));
      return { value: added, sentence: `Organisation ${added.id} (${added.name}) added.` };
    },
  );
  printing(organisation.command('list').description('list the organisations'), async () => ({
    rows: await operate(listOrganisations),
  }));
}
