// `tollgate user`: users are what a merchant's backend server calls the API as.
import type { Command } from 'commander';
import { addUser, grantMerchant, listUsers, revokeUser, rotateSecret } from '../admin/users.js';
import { id, ids } from './arguments.js';
import { operate } from './operator.js';
import { printing } from './output.js';

export function addUserCommands(program: Command): void {
  const user = program
    .command('user')
    .description('users are what a merchant’s backend server calls the API as');
  printing(
    user
      .command('add')
      .argument('<username>', 'what it calls itself in each request')
      .description('add a user and print its secret, once')
      .requiredOption('--merchant <id>', 'the merchant that it is assigned to', id)
      .option('--grant <id>', 'a further merchant of the same organisation (may be repeated)', ids),
    async (username: string, { merchant, grant: grants }) => {
      const added = await operate((database, operator) =>
        addUser(database, operator, username, { merchant, grants }),
      );
      const sentence = `User ${username} added. The secret is shown only now: ${added.password}`;
      return { value: added, sentence };
    },
  );
  printing(user.command('list').description('list the users'), async () => ({
    rows: await operate(listUsers),
  }));
  printing(
    user
      .command('grant')
      .argument('<username>', 'the user')
      .argument('<merchant>', 'a merchant of the same organisation', id)
      .description('let a user act for a further merchant'),
    async (username: string, merchant: number) => {
      const granted = await operate((database, operator) =>
        grantMerchant(database, operator, username, merchant),
      );
      return { value: granted, sentence: `User ${username} may act for merchant ${merchant}.` };
    },
  );
  printing(
    user
      .command('rotate')
      .argument('<username>', 'the user')
      .description('give a user a new secret and print it, once; the old one is refused within two seconds'),
    async (username: string) => {
      const rotated = await operate((database, operator) => rotateSecret(database, operator, username));
      return {
        value: rotated,
        sentence: `The secret of ${username} is shown only now: ${rotated.password}`,
      };
    },
  );
  printing(
    user
      .command('revoke')
      .argument('<username>', 'the user')
      .description('refuse a user for good, within two seconds'),
    async (username: string) => {
      const revoked = await operate((database, operator) => revokeUser(database, operator, username));
      return { value: revoked, sentence: `User ${username} is revoked.` };
    },
  );
}
