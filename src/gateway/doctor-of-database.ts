// What the database tells of everything that gateways do in it, and may be late with.
import { setTimeout as sleep } from 'node:timers/promises';
import { type ListedAcquirer, listAcquirers } from '../admin/acquirers.js';
import { verifyEndOfJournal } from '../admin/journal.js';
import type { Database } from '../postgres/database.js';
import { missingMigrations } from '../postgres/migrations.js';
import { lastClosedDay } from '../values/settlement.js';
import { openInstallationKey } from '../vault/installation-keys.js';
import type { KeyProvider } from '../vault/key-provider.js';
import { EVENT_WAITS, STATE_OF_GATEWAY, TRADED_UP_TO } from './doctor.sql.js';
import { examineServer, read } from './doctor-of-server.js';
import { byAge, type Finding, failure, inWords, notChecked, ok, warning } from './finding.js';
import { checkKey } from './key-encryption.js';
import type { Settings } from './settings.js';

const MINUTE = 60;
const HOUR = 3_600;
const DAY = 86_400;
/** What only seems to be late is gone by then. */
const STAYS_MS = 10_000;
const LOOK_EVERY_MS = 500;
const LAST_ID = 2_147_483_647;
const CHAIN = 'journal’s chain';
const CHAIN_ENTRIES = 10_000;

interface GatewayState {
  readonly advancedMs: number;
  readonly closedDay: string | null;
  readonly processes: number;
  readonly seenAheadSeconds: number | null;
  readonly inDoubt: number;
  readonly inDoubtSeconds: number | null;
  readonly reversals: number;
  readonly reversalSeconds: number | null;
  readonly feedSeconds: number | null;
  readonly oldestEvent: string | null;
  readonly disabledEndpoints: number;
  readonly webhookSeconds: number | null;
  readonly cardSeconds: number | null;
  readonly unwrittenSeconds: number | null;
  readonly highestId: number | null;
  readonly keySeconds: number | null;
  readonly backupSeconds: number | null;
  readonly journalGuards: number;
}

export async function examineDatabase(database: Database, settings: Settings): Promise<Finding[]> {
  const about = await examineServer(database);
  const missing = await missingMigrations(database).catch((error: Error) => error.message);
  if (typeof missing === 'string' || missing.length > 0) {
    const found = typeof missing === 'string' ? missing : `is not current: ${missing.join(', ')} are missing`;
    return [
      ...about,
      failure('schema', found, 'run `tollgate migrate`, or the release that made it'),
      notChecked('everything in the database', 'it takes a schema that is current'),
    ];
  }
  const state = await read<GatewayState>(database, STATE_OF_GATEWAY);
  return [
    ...about,
    ok('schema', 'is current'),
    ...(await examineSealed(database, settings)),
    ...examineGateways(state, settings),
    ...(await examineLinks(database)),
    ...examineWaiting(state),
    await examineFeed(database, state),
    await examineSettlement(database, state),
    ...examineLags(state),
    ...examineKeeping(state, settings),
  ];
}

/** What takes the key-encryption key. */
async function examineSealed(database: Database, settings: Settings): Promise<Finding[]> {
  try {
    const provider = await checkKey(settings, database);
    return [
      ok('key of this database', 'opens what is sealed'),
      await examineChain(database, provider).catch((error: Error) => notChecked(CHAIN, error.message)),
    ];
  } catch (error) {
    const { message } = error as Error;
    return [
      failure('key of this database', message, 'bring the right one: see docs/keys.md'),
      notChecked(CHAIN, 'it takes the key'),
    ];
  }
}

/** As much of it as can be looked at at once, from the end: whoever hides something hides what was done lately. */
async function examineChain(database: Database, provider: KeyProvider): Promise<Finding> {
  const key = await openInstallationKey(database, provider, 'journal');
  const { entries, unchained, problems, problemCount } = await verifyEndOfJournal(
    database,
    key,
    CHAIN_ENTRIES,
  );
  const [first] = problems;
  if (first !== undefined) {
    const where = first.entry === undefined ? `block ${first.block}` : `entry ${first.entry}`;
    return failure(
      CHAIN,
      `${problemCount} problems in the last ${entries} entries; ${where}: ${first.problem}`,
      '`tollgate journal verify` shows all; find out who writes to the database',
    );
  }
  const late = unchained > 0 ? `, ${unchained} of them not in the chain yet` : '';
  return ok(
    CHAIN,
    `the last ${entries} entries are whole${late}; \`tollgate journal verify\` looks at all of them`,
  );
}

function examineGateways(
  { processes, seenAheadSeconds, advancedMs, highestId }: GatewayState,
  settings: Settings,
): Finding[] {
  const left = LAST_ID - (highestId ?? 0);
  return [
    processes === 0
      ? failure(
          'processes',
          'no gateway is running on this database',
          'start one: what is in doubt waits for it',
        )
      : ok('processes', `${processes} running`),
    (seenAheadSeconds ?? 0) > 2
      ? warning(
          'clock jumps',
          `the database’s clock has gone back by ${inWords(seenAheadSeconds as number)}`,
          'keep it in step (NTP), without jumps',
        )
      : ok('clock jumps', 'none seen'),
    advancedMs === 0
      ? ok('gateway’s clock', 'shows real time')
      : (settings.environment === 'production' ? failure : warning)(
          'gateway’s clock',
          `is ${inWords(advancedMs / 1_000)} ahead`,
          '`tollgate clock reset`',
        ),
    left > 200_000_000
      ? ok('audits and IDs', 'every organisation has plenty left')
      : warning('audits and IDs', `an organisation has ${left} left`, 'open another organisation in time'),
  ];
}

async function examineLinks(database: Database): Promise<Finding[]> {
  return (await listAcquirers(database)).map(examineLink);
}

function examineLink(link: ListedAcquirer): Finding {
  const { name, gateways, gatewaysSignedOn, condition, since, reason } = link;
  const check = `link ${name}`;
  const line = `signed on from ${gatewaysSignedOn} of ${gateways} gateways`;
  const age = since === null ? '' : ` for ${inWords((Date.now() - since.getTime()) / 1_000)}`;
  const why = reason === null ? '' : ` (${reason})`;
  switch (condition) {
    case 'up':
      return ok(check, line);
    case 'no_gateway':
      return notChecked(check, 'no gateway is running');
    case 'connecting':
      return warning(check, 'no gateway is signed on yet', 'look again in a few seconds');
    case 'down':
      return failure(
        check,
        `down${age}${why}: payments over it are not sent`,
        `\`tollgate acquirer test ${name}\`, then ask the acquirer`,
      );
    case 'not_answering':
      return failure(
        check,
        `${line}, but not answering${age}${why}`,
        'ask the acquirer; `tollgate transaction in-doubt` lists what is in doubt',
      );
    case 'partly_down':
      return warning(check, `${line}, and down at the others${age}${why}`, 'look into their logs');
  }
}

/** What gateways do by themselves. Where none runs that is said once, and everything goes on when one is started. */
function goesOn(check: string): Finding {
  return notChecked(check, 'no gateway is running; it goes on when one is started');
}

async function examineFeed(database: Database, state: GatewayState): Promise<Finding> {
  const { feedSeconds, oldestEvent, processes } = state;
  const check = 'feed of events';
  if (feedSeconds === null || oldestEvent === null) return ok(check, 'is up to date');
  if (processes === 0) return goesOn(check);
  // An event may be dated back, as the demo's are, or the clock be ahead: it is late only if it stays.
  for (let waitedMs = 0; feedSeconds > MINUTE && waitedMs < STAYS_MS; waitedMs += LOOK_EVERY_MS) {
    await sleep(LOOK_EVERY_MS);
    const { waits } = await read<{ waits: boolean }>(database, EVENT_WAITS, [oldestEvent]);
    if (!waits) return ok(check, 'is being caught up with');
  }
  return byAge(
    check,
    feedSeconds,
    { warnAbove: MINUTE, failAbove: HOUR },
    {
      nothing: 'is up to date',
      found: (age) => `the oldest event has waited for ${age}`,
      todo: '`tollgate event status`',
    },
  );
}

async function examineSettlement(database: Database, state: GatewayState): Promise<Finding> {
  const { closedDay, processes } = state;
  const due = lastClosedDay(Date.now() + state.advancedMs - 5 * MINUTE * 1_000);
  if (closedDay !== null && closedDay >= due) return ok('settlement', `is closed up to ${closedDay}`);
  if (closedDay === null) {
    const { traded } = await read<{ traded: boolean }>(database, TRADED_UP_TO, [due]);
    if (!traded) return ok('settlement', 'there is no day to close yet');
  }
  if (processes === 0) return goesOn('settlement');
  return failure(
    'settlement',
    `is closed up to ${closedDay ?? 'no day'}, and ${due} should be`,
    'look for `background job failed` in the log; a session may hold a commit open',
  );
}

function examineWaiting(state: GatewayState): Finding[] {
  return [
    byAge(
      'in doubt',
      state.inDoubtSeconds,
      { warnAbove: 10 * MINUTE, failAbove: DAY },
      {
        nothing: 'no transaction waits for the resolver',
        found: (age) => `${state.inDoubt} transactions, the oldest for ${age}`,
        todo: '`tollgate transaction in-doubt`, and ask the acquirer',
      },
    ),
    byAge(
      'reversals',
      state.reversalSeconds,
      { warnAbove: 10 * MINUTE, failAbove: DAY },
      {
        nothing: 'all are acknowledged',
        found: (age) => `${state.reversals} are not acknowledged, the oldest for ${age}`,
        todo: 'ask the acquirer',
      },
    ),
  ];
}

function examineLags(state: GatewayState): Finding[] {
  return [
    state.disabledEndpoints > 0
      ? warning(
          'webhooks',
          `${state.disabledEndpoints} endpoints are disabled because they failed`,
          '`tollgate webhook list`, then enable or remove them',
        )
      : byAge(
          'webhooks',
          state.webhookSeconds,
          { warnAbove: HOUR },
          {
            nothing: 'none waits',
            found: (age) => `the oldest has failed for ${age}`,
            todo: '`tollgate webhook deliveries`, and ask its owner',
          },
        ),
    state.processes === 0 && (state.cardSeconds ?? 0) > 0
      ? goesOn('card destruction')
      : byAge(
          'card destruction',
          state.cardSeconds,
          { warnAbove: HOUR, failAbove: DAY },
          {
            nothing: 'is up to date',
            found: (age) => `a merchant’s turn is ${age} late`,
            todo: '`tollgate cards status`; the log says why',
          },
        ),
    byAge(
      'direct-debit files',
      state.unwrittenSeconds,
      { warnAbove: HOUR },
      {
        nothing: 'all were written',
        found: (age) => `one has waited for ${age} to be written`,
        todo: '`tollgate directdebit export`',
      },
    ),
  ];
}

function examineKeeping(state: GatewayState, { databaseUrl }: Settings): Finding[] {
  return [
    byAge(
      'data keys',
      state.keySeconds,
      { warnAbove: 365 * DAY },
      {
        nothing: 'there are none yet',
        found: (age) => `the oldest in use is ${age} old`,
        todo: '`tollgate keys rotate`',
      },
    ),
    state.journalGuards === 2
      ? ok('journal', 'can only be appended to')
      : failure(
          'journal',
          'its triggers are switched off or gone',
          'somebody can have changed it: find out who, and restore them',
        ),
    ...(databaseUrl !== undefined
      ? [notChecked('backups', 'of a PostgreSQL of your own: look where they are made')]
      : [
          state.backupSeconds === null
            ? warning('backups', 'none was ever made', '`tollgate backup FOLDER`, every day')
            : byAge(
                'backups',
                state.backupSeconds,
                { warnAbove: 26 * HOUR },
                {
                  nothing: '',
                  found: (age) => `the newest is ${age} old`,
                  todo: '`tollgate backup FOLDER`, every day',
                },
              ),
        ]),
  ];
}
