// Clusters on which a start is refused: of real servers, from an extension that was only just made to a cluster that is served, and asked by
// the program itself.
import {
  addressAt,
  ask,
  dropCitusDatabase,
  prepareByCommands,
  type Server,
  serversOf,
} from '../../testkit/citus.js';
import { dataDirectory, start } from '../../testkit/gateway-process.js';
import { asEnvironment } from '../../testkit/project.js';
import { say } from '../../testkit/report.js';

const EARLIER_VERSION = '13.1-1';

/** Starts that were not refused, or not as they should have been, in words. */
export async function wrongStarts(adminUrl: string, name: string): Promise<string[]> {
  const servers = await serversOf(adminUrl);
  const coordinator = servers.find(({ isCoordinator }) => isCoordinator) as Server;
  const [worker, ...others] = servers.filter(({ isCoordinator }) => !isCoordinator) as [Server, ...Server[]];
  const on = (server: Server) => addressAt(adminUrl, server, name);
  const wrong: string[] = [];
  const expectStart = async (server: Server, expected: string) => {
    const said = await started(on(server));
    say(said);
    if (!said.includes(expected)) wrong.push(`instead of “${expected}”: ${said}`);
  };

  for (const server of servers) await ask(addressAt(adminUrl, server), [`CREATE DATABASE ${name}`]);
  // Of an earlier release, the programs being of a later one: as after an upgrade that was not brought to its end.
  await ask(on(coordinator), [
    'SET citus.enable_version_checks = off',
    `CREATE EXTENSION citus VERSION '${EARLIER_VERSION}'`,
  ]);
  await expectStart(coordinator, `Citus ${EARLIER_VERSION} is not one that this release was tried with`);
  await ask(on(coordinator), ['ALTER EXTENSION citus UPDATE']);
  for (const server of [worker, ...others]) await ask(on(server), ['CREATE EXTENSION citus']);
  await expectStart(coordinator, 'Citus does not know its own coordinator');
  await ask(on(coordinator), [
    `SELECT citus_set_coordinator_host('${coordinator.host}', ${coordinator.port})`,
  ]);
  await expectStart(coordinator, 'Citus knows no server but its coordinator');
  for (const { host, port } of [worker, ...others])
    await ask(on(coordinator), [`SELECT citus_add_node('${host}', ${port})`]);
  await expectStart(worker, 'this server is a worker of a Citus cluster');
  await expectStart(coordinator, 'the transactions are not distributed');
  await prepareByCommands(on(coordinator));
  const alter = (how: string) =>
    ask(on(worker), ['SET citus.enable_ddl_propagation = off', `ALTER DATABASE ${name} ${how}`]);
  await alter('SET synchronous_commit = off');
  await expectStart(
    coordinator,
    `${worker.host}:${worker.port} runs with fsync off, or commits without waiting`,
  );
  await alter('RESET synchronous_commit');
  await expectStart(coordinator, SERVED);
  await dropCitusDatabase(adminUrl, name);
  return wrong;
}

const SERVED = 'it is served';

/** What a gateway says that does not start. */
async function started(url: string): Promise<string> {
  const settings = asEnvironment({ DATA_DIR: await dataDirectory(), PORT: '0', LOG_LEVEL: 'warn' });
  const gateway = start(['serve'], { ...settings, DATABASE_URL: url });
  const baseUrl = await gateway.listening;
  gateway.kill('SIGTERM');
  const { stderr } = await gateway.ended;
  return baseUrl === undefined ? stderr.trim() : SERVED;
}
