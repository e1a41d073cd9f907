// What operators may do on the command line, by their role and by their organisation: one table, and no command without a place in it.
import type { Command } from 'commander';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { commands as allCommands } from '../../src/cli/command-line.js';
import { TASKS, type TaskName } from '../../src/console/all-tasks.js';
import { readSettings } from '../../src/gateway/settings/settings.js';
import { isAtLeast, permit } from '../../src/operators/operator-roles.js';
import { addOperator } from '../../src/operators/operators.js';
import { addMerchant } from '../../src/organisations/merchants.js';
import { addOrganisation } from '../../src/organisations/organisations.js';
import type { CredentialKey } from '../../src/organisations/users/credentials.js';
import { addUser } from '../../src/organisations/users/users.js';
import type { Database } from '../../src/postgres/database.js';
import type { OperatorRole } from '../../src/tasks/task.js';
import { operatorsDatabase } from '../../testkit/cast.js';
import { runHere } from '../../testkit/command-here.js';
import { type Commands, commands, wordsOf } from '../../testkit/commands.js';
import { operatorToken } from '../../testkit/console.js';
import { credentialKeyOf, type TestDatabase, testDatabase } from '../../testkit/gateway.js';
import { dataDirectory, type Ended } from '../../testkit/gateway-process.js';

let database: TestDatabase;
let connection: Database;
let dataDir: string;
let key: CredentialKey;

/** Merchants 1 and 2 are of organisations 1 and 2, with a user each. */
beforeAll(async () => {
  database = await testDatabase();
  dataDir = await dataDirectory();
  connection = operatorsDatabase({ databaseUrl: database.url, dataDir }, 2);
  key = await credentialKeyOf(connection, readSettings({ TOLLGATE_DATA_DIR: dataDir }));
  for (const organisation of [1, 2]) {
    await addOrganisation(connection, 'operator:test', `Organisation ${organisation}`);
    await addMerchant(connection, 'operator:test', organisation, `Shop ${organisation}`);
    await addUser(connection, 'operator:test', key, `user${organisation}`, { merchant: organisation });
  }
  const add = (name: string, role: OperatorRole, organisation?: number) =>
    addOperator(connection, 'operator:test', key, 'http://127.0.0.1:8081', name, { role, organisation });
  await add('ada', 'administrator');
  await add('olga', 'operator');
  await add('vera', 'viewer');
  await add('sue', 'administrator', 2);
});
afterAll(async () => {
  await connection.close();
  await database.drop();
});

const runAs = async (name: string, line: string): Promise<Ended> =>
  runHere(wordsOf(line), {
    DATABASE_URL: database.url,
    TOLLGATE_DATA_DIR: dataDir,
    TOLLGATE_OPERATOR_TOKEN: await operatorToken(connection, key, name),
  });
const as = (name: string): Commands => commands((line) => runAs(name, line));

/** Commands that do something, or have nothing below them. */
function leaves(command: Command): Command[] {
  return command.commands.length === 0 ? [command] : command.commands.flatMap(leaves);
}

/** Without the name of the program: `merchant suspend`. */
function taskOf(command: Command): string {
  const { parent } = command;
  return parent?.parent ? `${taskOf(parent)} ${command.name()}` : command.name();
}

/** Each as it can be typed, for organisation 1 where it is for one. */
const LINES: Readonly<Record<TaskName, string>> = {
  distribute: 'distribute',
  restore: 'restore /nowhere',
  backup: 'backup /nowhere',
  'counters advance': 'counters advance --taken 2026-01-01',
  'restored show': 'restored show',
  'restored done': 'restored done',
  archive: 'archive --before 2020-01-01 --to /nowhere/archive',
  'organisation add': 'organisation add New',
  'organisation list': 'organisation list',
  'organisation host': 'organisation host 1 --none',
  'cell show': 'cell show',
  'cell name': 'cell name two --number 2',
  'merchant add': 'merchant add New --organisation 1',
  'merchant set': 'merchant set 1 --name Renamed',
  'merchant suspend': 'merchant suspend 1',
  'merchant resume': 'merchant resume 1',
  'merchant list': 'merchant list --organisation 1',
  'user add': 'user add new --merchant 1',
  'user set': 'user set user1 --allow read',
  'user grant': 'user grant user1 1',
  'user ungrant': 'user ungrant user1 1',
  'user rotate': 'user rotate user1',
  'user revoke': 'user revoke user1',
  'user list': 'user list --organisation 1',
  'acquirer add': 'acquirer add bank --kind iso8583 --address 127.0.0.1:9 --test',
  'acquirer set': 'acquirer set simulator --address 127.0.0.1:9',
  'acquirer remove': 'acquirer remove simulator',
  'acquirer unseen': 'acquirer unseen',
  'acquirer test': 'acquirer test simulator',
  'acquirer show': 'acquirer show simulator',
  'acquirer list': 'acquirer list',
  'route set': 'route set --merchant 1 --acquirer simulator',
  'route off': 'route off --merchant 1',
  'route show': 'route show --merchant 1',
  'limit set': 'limit set --merchant 1 --per card --attempts 5 --within 10m --mode block',
  'limit list': 'limit list --merchant 1',
  'limit reached': 'limit reached --merchant 1',
  'limit off': 'limit off --merchant 1',
  'wallet add':
    'wallet add --merchant 1 --type apple_pay --recipient merchant.example --roots-file package.json',
  'wallet identify':
    'wallet identify --merchant 1 --recipient merchant.example --certificate-file package.json --key-file package.json',
  'wallet rotate': 'wallet rotate --merchant 1 --key 1',
  'wallet trust': 'wallet trust --merchant 1 --key 1 --roots-file package.json',
  'wallet remove': 'wallet remove --merchant 1 --key 1',
  'wallet list': 'wallet list --merchant 1',
  'checkout add': 'checkout add --merchant 1 --reference x --amount 100 --currency AUD',
  'checkout list': 'checkout list --merchant 1',
  'checkout show': 'checkout show co_x --merchant 1',
  'checkout cancel': 'checkout cancel co_x --merchant 1',
  'schedule list': 'schedule list --merchant 1',
  'schedule calendar': 'schedule calendar --merchant 1',
  'schedule show': 'schedule show sc_x --merchant 1',
  'schedule pause': 'schedule pause sc_x --merchant 1',
  'schedule resume': 'schedule resume sc_x --merchant 1',
  'schedule cancel': 'schedule cancel sc_x --merchant 1',
  'transaction show': 'transaction show 1 --organisation 1',
  'transaction list': 'transaction list --merchant 1',
  'transaction in-doubt': 'transaction in-doubt --merchant 1',
  'transaction find': 'transaction find order --merchant 1',
  'transaction figures': 'transaction figures --organisation 1',
  'transaction void': 'transaction void 1 --organisation 1 --reason x',
  'transaction refund': 'transaction refund 1 --organisation 1 --reason x',
  'transaction complete': 'transaction complete 1 --organisation 1 --reason x',
  'transaction ask': 'transaction ask 1 --organisation 1',
  'customer list': 'customer list --organisation 1',
  'customer show': 'customer show 1 --organisation 1',
  'customer delete': 'customer delete 1 --organisation 1',
  'token deactivate': 'token deactivate 1 --organisation 1',
  'token find': 'token find card_1 --merchant 1',
  'vault export': 'vault export --merchant 1 --recipient age1 --out nowhere/cards.age',
  'vault import': 'vault import nowhere/cards.age --merchant 1',
  'token activate': 'token activate 1 --organisation 1',
  'token delete': 'token delete 1 --organisation 1',
  'approval list': 'approval list --organisation 1',
  'approval approve': 'approval approve 1 --organisation 1',
  'approval rules': 'approval rules',
  'approval require': 'approval require --above AUD=1000',
  'approval refuse': 'approval refuse 1 --organisation 1',
  'clock advance': 'clock advance 1h',
  'clock reset': 'clock reset',
  'clock show': 'clock show',
  'surcharge set': 'surcharge set --merchant 1 --default 1',
  'surcharge off': 'surcharge off --merchant 1',
  'surcharge show': 'surcharge show --merchant 1',
  'directdebit set':
    'directdebit set --merchant 1 --bank CBA --user-name Shop --user-id 123456 --trace-bsb 062-000 --trace-account 12345678 --remitter Shop',
  'directdebit export': 'directdebit export --merchant 1 --out /nowhere/file.aba',
  'directdebit import-returns': 'directdebit import-returns /nowhere/returns',
  'directdebit status': 'directdebit status --merchant 1',
  'directdebit files': 'directdebit files --merchant 1',
  'directdebit show': 'directdebit show --merchant 1',
  'settlement show': 'settlement show --date 2026-01-05 --merchant 1',
  'settlement reconcile': 'settlement reconcile /nowhere/file.csv --acquirer simulator --date 2026-01-05',
  'webhook add': 'webhook add https://example.com/ --merchant 1',
  'webhook rotate': 'webhook rotate 1',
  'webhook remove': 'webhook remove 1',
  'webhook disable': 'webhook disable 1',
  'webhook enable': 'webhook enable 1',
  'webhook test': 'webhook test 1',
  'webhook resend': 'webhook resend 1 evt_1_transaction_1_1',
  'webhook replay': 'webhook replay 1 --from evt_1_transaction_1_1',
  'webhook list': 'webhook list --merchant 1',
  'webhook deliveries': 'webhook deliveries 1',
  'keys rotate': 'keys rotate --merchant 1',
  'keys destroy': 'keys destroy --merchant 1 --version 1',
  'keys move': 'keys move',
  'keys seal': 'keys seal merchant/1',
  'keys verify': 'keys verify --merchant 1',
  'keys status': 'keys status',
  'cards review': 'cards review --merchant 1',
  'cards status': 'cards status --merchant 1',
  'operator add': 'operator add new --role viewer',
  'operator link': 'operator link ada',
  'operator enable': 'operator enable ada',
  'operator review': 'operator review',
  'operator remove': 'operator remove ada',
  'operator set': 'operator set ada --role administrator',
  'operator sessions': 'operator sessions ada',
  'operator sign-out': 'operator sign-out ada',
  'operator list': 'operator list',
  'journal checkpoint': 'journal checkpoint',
  'journal export': 'journal export --out /nowhere/journal',
  'journal verify': 'journal verify',
  'journal list': 'journal list --merchant 1',
  'journal key': 'journal key',
  'event status': 'event status',
  'figures check': 'figures check',
  'figures rebuild': 'figures rebuild',
  'settlement differences': 'settlement differences',
  'settlement looked-at': 'settlement looked-at 1 --note seen',
  'demo fill': 'demo fill',
};

/** Refused here before anybody is asked for: a database that does not come with the gateway, a provider that is not named. */
const REFUSED_BEFORE: readonly string[] = ['backup', 'keys move'];
const withRole = TASKS.flatMap((permission) => {
  const { name, role, scope } = permission;
  return role === undefined || REFUSED_BEFORE.includes(name)
    ? []
    : [{ permission, task: name, role, scope, line: LINES[name as TaskName] }];
});

/** Of whoever installs and starts the gateway, with or without a database. */
const INSTALLING = ['serve', 'probe', 'doctor', 'migrate', 'fleet status', 'fleet map', 'fleet proxy'];

/** It is declared beside the fleet, which the console does not know. Below, those who may not are refused. */
const MOVING = 'organisation move';

test('every command has its permission, and nothing else has', () => {
  const words = leaves(allCommands())
    .map(taskOf)
    .filter((name) => name !== MOVING && !INSTALLING.includes(name))
    .sort();
  expect(words).toEqual(TASKS.map(({ name }) => name).sort());
  expect(words).toEqual(Object.keys(LINES).sort());
});

test('tasks without a database → need no role, since no operator could be checked', () => {
  const unchecked = TASKS.filter(({ on }) => on === 'nothing');
  expect(unchecked.map(({ name }) => name)).toContain('restore');
  expect(unchecked.filter(({ role, route }) => role !== undefined || route !== undefined)).toEqual([]);
});

describe('an operator of the whole installation', () => {
  test.each([
    ['vera', 'viewer', 'organisation add New'],
    ['olga', 'operator', 'user revoke user1'],
    ['olga', 'operator', 'organisation move 1 --to two'],
  ] as const)(
    // catches(operators: what is refused is in the journal)
    // catches(operators: no more than their role)
    '%s, %s → refused what takes a higher role, in one line, and the journal has it',
    async (name, role, line) => {
      const refusal = `the operator ${name} has the role ${role}; “${line.split(' ', 2).join(' ')}” takes the role administrator`;
      expect(await as(name).refusal(line)).toBe(refusal);
      const [entry] = await as(name).json('journal --limit 1');
      expect(entry).toMatchObject({ actor: `operator:${name}`, action: 'operator.refused' });
      const operator = { name, role, organisationId: null };
      for (const { permission, task, role: least } of withRole) {
        const refused = await permit(connection, operator, permission).then(
          () => false,
          (error: Error) => error.message.includes(`“${task}” takes the role ${least}`),
        );
        expect([task, refused]).toEqual([task, !isAtLeast(role, least)]);
      }
      expect(await as(name).json('merchant list')).toHaveLength(2);
    },
  );

  test('an administrator → may do what other roles may not', async () => {
    await as('ada').json('merchant suspend 1');
    await as('ada').json('merchant resume 1');
    await as('olga').json('route off --merchant 1');
  });
});

describe('an operator of one organisation', () => {
  // catches(operators: of one organisation, and not of another)
  test('→ refused everything of another organisation, of unknown ones, and of the whole installation', async () => {
    for (const { task, scope, line } of withRole) {
      if (scope === 'nobody') continue;
      const refusal = await as('sue').refusal(line);
      expect([task, refusal]).toEqual([
        task,
        expect.stringMatching(/^the operator sue may act only for organisation 2[,;:] /),
      ]);
    }
    const [of1, of99] = [
      await as('sue').refusal('merchant suspend 1'),
      await as('sue').refusal('merchant suspend 99'),
    ];
    expect(of1).toBe(of99);
  });

  test('→ does what is allowed for its own organisation, and sees nothing else', async () => {
    const sue = as('sue');
    await sue.json('merchant suspend 2');
    await sue.json('merchant resume 2');
    await sue.json('user set user2 --allow read');
    expect(await sue.json('merchant list --organisation 2')).toHaveLength(1);
    expect(await sue.json('user list --organisation 2')).toMatchObject([{ username: 'user2' }]);
    const entries = await sue.json('journal --merchant 2');
    expect(new Set(entries.map(({ organisation }: { organisation: number }) => organisation))).toEqual(
      new Set([2]),
    );
    expect(await sue.refusal('journal')).toBe(
      'the operator sue may act only for organisation 2: name it, or a merchant of it, with --organisation or --merchant',
    );
    expect(await sue.refusal('user add both --merchant 2 --grant 1')).toMatch(/not for everything/);
  });

  test('→ adds operators of its own organisation, and gets no link for anybody above it', async () => {
    const sue = as('sue');
    expect(await sue.json('operator add sven --role viewer --organisation 2')).toMatchObject({
      name: 'sven',
    });
    await sue.json('operator link sven');
    expect(await sue.refusal('operator link ada')).toMatch(/^the operator sue may act only/);
    expect(await sue.refusal('operator add max --role viewer')).toMatch(/^the operator sue may act only/);
    expect(await sue.json('operator remove sven')).toMatchObject({ removed: true });
  });
});

test('a role changed in the database → nothing is permitted, since the operator’s seal is broken', async () => {
  await connection.query({
    name: '',
    text: `UPDATE operator SET role = 'administrator' WHERE name = 'vera'`,
  });
  expect(await as('vera').refusal('merchant suspend 1')).toMatch(
    /^the token of the command line is not right/,
  );
  await connection.query({ name: '', text: `UPDATE operator SET role = 'viewer' WHERE name = 'vera'` });
});

test('the last administrator of the whole installation → cannot be removed while there are other operators', async () => {
  const ada = as('ada');
  expect(await ada.refusal('operator remove ada')).toMatch(/^the operator ada is the last administrator/);
  for (const name of ['olga', 'vera', 'sue']) await ada.json(`operator remove ${name}`);
  expect(await ada.json('operator remove ada')).toMatchObject({ removed: true });
  // As at the beginning: nobody is an operator, and the first one must be able to add others.
  const nobody = commands((line) =>
    runHere(wordsOf(line), { DATABASE_URL: database.url, TOLLGATE_DATA_DIR: dataDir }),
  );
  for (const line of [
    'operator add vic --role viewer',
    'operator add al --role administrator --organisation 1',
  ])
    expect(await nobody.refusal(line)).toMatch(/^the first operator must be an administrator/);
  await nobody.json('operator add grace --role administrator');
});
