// Checks on a PostgreSQL server: whether commits are durable, its standbys, its clock and its health.
import { CLOCKS_AGREE_WITHIN_MS, clocksApart } from '../../clock/clock.js';
import type { Queryable, Statement } from '../../postgres/database.js';
import { UNSAFE_STANDBYS } from '../database/connection.js';
import { byAge, type CheckResult, failure, inWords, ok, warning } from './check-result.js';
import { READ_ONLY, RIGHTS_OF_LOGIN, STATE_OF_SERVER } from './doctor.sql.js';

const MINUTE = 60;
const OLDEST_VERSION = 150_000;
/** Of two thousand million, after which PostgreSQL stops. */
const TRANSACTIONS = { warnAbove: 1_000_000_000, failAbove: 1_800_000_000 };

export const SET_CLOCK = 'set the wrong clock right, and keep both in step (NTP)';

interface ServerState {
  readonly version: string;
  readonly number: number;
  readonly fsync: string;
  readonly fullPageWrites: string;
  readonly synchronousCommit: string;
  readonly synchronousStandbys: string;
  readonly standbys: number;
  readonly synchronous: number;
  readonly lagSeconds: number | null;
  readonly idleSlots: number;
  readonly nowMs: number;
  readonly maxConnections: number;
  readonly connections: number;
  readonly longestSeconds: number | null;
  readonly transactionAge: number;
  readonly checksumFailures: number;
}

export async function examineServer(database: Queryable): Promise<CheckResult[]> {
  const askedMs = Date.now();
  const server = await read<ServerState>(database, STATE_OF_SERVER);
  return [...judge(server), examineClock(clocksApart(server.nowMs, askedMs) / 1_000)];
}

/** In a read-only database transaction. */
export async function read<State>(
  database: Queryable,
  statement: Statement,
  values: readonly unknown[] = [],
): Promise<State> {
  return database.transaction(async (connection) => {
    await connection.query({ name: '', text: READ_ONLY });
    return (await connection.query<State>(statement, [...values])).rows[0] as State;
  });
}

function judge(server: ServerState): CheckResult[] {
  const { version, number, fsync, fullPageWrites, synchronousCommit } = server;
  const unsafe = [
    ...(number < OLDEST_VERSION ? [`it is PostgreSQL ${version}, and 15 or later is needed`] : []),
    ...(fsync === 'on' ? [] : ['fsync is off']),
    ...(fullPageWrites === 'on' ? [] : ['full_page_writes is off']),
    ...(['on', 'remote_apply'].includes(synchronousCommit)
      ? []
      : [`synchronous_commit is ${synchronousCommit}`]),
  ];
  const { connections, maxConnections, checksumFailures, transactionAge, longestSeconds, idleSlots } = server;
  const used = `${connections} of ${maxConnections} are used`;
  return [
    unsafe.length === 0
      ? ok('database', `PostgreSQL ${version}, with fsync, full_page_writes and synchronous_commit on`)
      : failure('database', unsafe.join(', '), 'payments can be lost in a crash: put it right'),
    examineReplication(server),
    connections > maxConnections * 0.9
      ? warning('connections', used, 'raise max_connections, or stop what holds them')
      : ok('connections', used),
    checksumFailures === 0
      ? ok('checksums', 'no page of the database was found damaged')
      : failure(
          'checksums',
          `${checksumFailures} pages were found damaged`,
          'the disk is failing: restore a backup onto another',
        ),
    byAge('transaction numbers', transactionAge, TRANSACTIONS, {
      nothing: 'are young',
      found: () => `${Math.round(transactionAge / 1_000_000)} of 2000 million are used`,
      todo: 'let autovacuum finish, and end sessions that are open for long',
    }),
    (longestSeconds ?? 0) > 5 * MINUTE
      ? warning(
          'open transactions',
          `one that has written something has been open for ${inWords(longestSeconds as number)}`,
          'end it: events, and cleaning up, wait for it',
        )
      : ok('open transactions', 'none is open for long'),
    ...(idleSlots === 0
      ? []
      : [
          warning(
            'replication slots',
            `${idleSlots} are not in use, and keep the log for ever`,
            'drop them: the disk fills',
          ),
        ]),
  ];
}

function examineReplication({
  standbys,
  synchronousStandbys,
  synchronous,
  lagSeconds,
}: ServerState): CheckResult {
  if (standbys === 0 && synchronousStandbys === '') return ok('replication', 'there are no standbys');
  if (synchronousStandbys === '') {
    return warning('replication', UNSAFE_STANDBYS, 'set synchronous_standby_names');
  }
  if (synchronous === 0) {
    return failure(
      'replication',
      'no synchronous standby is connected: nothing commits',
      'bring it back, or take it out of synchronous_standby_names',
    );
  }
  return byAge(
    'replication',
    lagSeconds ?? 0,
    { warnAbove: 10, failAbove: 5 * MINUTE },
    {
      nothing: `${standbys} standbys`,
      found: (age) => `${standbys} standbys, ${synchronous} of them synchronous, at most ${age} behind`,
      todo: 'look at the standby and the network to it',
    },
  );
}

/** On one machine the two clocks always agree. */
function examineClock(apartSeconds: number): CheckResult {
  const seconds = Math.abs(apartSeconds);
  return byAge(
    'clock',
    seconds,
    { warnAbove: 2, failAbove: CLOCKS_AGREE_WITHIN_MS / 1_000 },
    {
      nothing: 'as the database’s',
      found: (age) =>
        seconds < 1
          ? 'those of this machine and the database agree'
          : `that of this machine is ${age} ${apartSeconds < 0 ? 'ahead of' : 'behind'} the database’s`,
      todo: SET_CLOCK,
    },
  );
}

interface Rights {
  readonly login: string;
  readonly superuser: boolean;
  readonly mayServe: boolean;
}

/** The login under which gateways serve. */
export async function examineRole(database: Queryable): Promise<CheckResult> {
  const { login, superuser, mayServe } = await read<Rights>(database, RIGHTS_OF_LOGIN);
  if (superuser) {
    return warning(
      'roles',
      `gateways log in as ${login}, a superuser`,
      'log in as a role that owns the database and nothing else',
    );
  }
  return mayServe
    ? ok('roles', `gateways log in as ${login}, and work as tollgate_application`)
    : warning(
        'roles',
        `gateways log in as ${login}, and there is no tollgate_application`,
        'let the login that migrates make roles (CREATEROLE)',
      );
}
