// The guards of what must not fail silently: a full disk, a killed PostgreSQL, and what an operator has got wrong.
import type { Guard } from './guard.js';

const KEEPER = 'src/embedded-postgres/keeper.ts';
const KILLED = 'test/processes/killed-postgres.test.ts';
const FULL = 'test/processes/full-disk.test.ts';
const REFUSED = 'test/cli/refused-commands.test.ts';
const MISSPELT = 'test/gateway/misspelt-settings.test.ts';

export const OPERATION_GUARDS: readonly Guard[] = [
  {
    name: 'clocks: a gateway whose clock is not the database’s is not ready',
    file: 'src/gateway/gateway.ts',
    find: 'if (clocks.apart) return CLOCKS_APART;',
    replace: '',
    tests: [['test/gateway/clocks.test.ts', 'a day ahead of the database’s']],
  },
  {
    name: 'whole files: what is interrupted leaves nothing',
    processes: true,
    file: 'src/files/whole-file.ts',
    find: 'for (const part of UNDER_WAY) rmSync(part, { force: true });',
    replace: '',
    tests: [['test/cli/whole-files.test.ts', 'in the middle → nothing is left']],
  },
  {
    name: 'whole files: a file appears when it is whole',
    processes: true,
    file: 'src/files/whole-file.ts',
    find: 'const part = `',
    replace: "const part = existing === 'refuse' ? path : `",
    tests: [['test/cli/whole-files.test.ts', 'killed in the middle, run again']],
  },
  {
    name: 'embedded PostgreSQL: one that has ended is started again',
    slow: true,
    processes: true,
    file: 'src/gateway/serve.ts',
    find: 'connection.keepRunning(postgresLog(log));',
    replace: 'postgresLog(log);',
    tests: [[KILLED, 'kill -9 of PostgreSQL']],
  },
  {
    name: 'embedded PostgreSQL: it is started again under the address that everybody knows',
    slow: true,
    processes: true,
    file: 'src/embedded-postgres/server.ts',
    find: 'bringUp({ ...wish, say: () => {}, port, signal })',
    replace: 'bringUp({ ...wish, say: () => {}, signal })',
    tests: [[KILLED, 'PostgreSQL is shut down by hand']],
  },
  {
    name: 'embedded PostgreSQL: one that cannot be started is tried again',
    slow: true,
    processes: true,
    file: KEEPER,
    find: 'if (message !== reason) told.onNotStarted(message);',
    replace: 'told.onNotStarted(message);\n        this.#ending.abort();\n        return;',
    tests: [[KILLED, 'PostgreSQL cannot be started']],
  },
  {
    name: 'embedded PostgreSQL: one that nobody recovers is ended',
    slow: true,
    processes: true,
    file: 'src/embedded-postgres/server.ts',
    find: "if (found.state !== 'stopping' && (await recovery.seesNone(found.pid))) {",
    replace: 'if (Date.now() < 0) {',
    tests: [[KILLED, 'PostgreSQL misses that its recovery has died']],
  },
  {
    name: 'embedded PostgreSQL: one that nobody recovers ends when it is stopped',
    slow: true,
    processes: true,
    file: 'src/embedded-postgres/process.ts',
    find: "process.kill(found.pid, isLost ? 'SIGQUIT' : 'SIGINT');",
    replace: "process.kill(found.pid, isLost ? 'SIGINT' : 'SIGINT');",
    tests: [[KILLED, 'SIGTERM while nobody recovers PostgreSQL']],
  },
  {
    name: 'full disk: it is looked for while nobody pays',
    slow: true,
    processes: true,
    file: 'src/gateway/gateway.ts',
    find: '() => disk.look(databases.others),',
    replace: 'async () => {},',
    tests: [[FULL, 'while nobody pays']],
  },
  {
    name: 'full disk: not ready',
    slow: true,
    processes: true,
    file: 'src/gateway/gateway.ts',
    find: '  if (disk.full) return DISK_FULL;\n',
    replace: '',
    tests: [[FULL, 'while nobody pays']],
  },
  {
    name: 'settings: a misspelt name is refused',
    file: 'src/gateway/settings.ts',
    find: '  variables.refuseMisspelt();\n',
    replace: '',
    tests: [[MISSPELT, ' is proposed']],
  },
  {
    name: 'commands: none but serve and migrate makes a database',
    processes: true,
    file: 'src/gateway/connection.ts',
    find: 'settings.databaseUrl === undefined && !(await hasDatabase(settings.dataDir))',
    replace:
      'settings.databaseUrl === undefined && !(await hasDatabase(settings.dataDir)) && settings.workers === 0',
    tests: [[REFUSED, 'where there is no database']],
  },
  {
    name: 'key file: one that others can read is refused',
    slow: true,
    processes: true,
    file: 'src/gateway/key-encryption.ts',
    find: 'if ((mode & 0o077) === 0) return;',
    replace: 'if (mode >= 0) return;',
    tests: [[REFUSED, 'a key file that others can read']],
  },
];
