// Checks on everything that gateways do in the database and may be late with.
import { type ListedAcquirer, listAcquirers } from '../../acquirers/acquirer-tasks.js';
import { verifySubjects } from '../../installation/subjects.js';
import { EntrySigner, setSigner } from '../../journal/entry-signer.js';
import { knownFrom, verifyEndOfJournal } from '../../journal/journal-tasks.js';
import { isSealedOperator, NOT_INDEPENDENT_MS, type OperatorRow } from '../../operators/operator.js';
import { LIST_OPERATORS } from '../../operators/operators.sql.js';
import { readRules } from '../../operators/second-person/rules.js';
import { CredentialKey } from '../../organisations/users/credentials.js';
import type { Database } from '../../postgres/database.js';
import { missingMigrations } from '../../postgres/schema.js';
import { isLoopback } from '../../values/network.js';
import { openInstallationKey } from '../../vault/keys/installation-keys.js';
import type { KeyProvider } from '../../vault/keys/key-provider.js';
import { checkoutUrlOf } from '../settings/console-url.js';
import { checkKey } from '../settings/key-encryption.js';
import type { Settings } from '../settings/settings.js';
import { byAge, type CheckResult, failure, inWords, notChecked, ok, warning } from './check-result.js';
import { STATE_OF_GATEWAY } from './doctor.sql.js';
import { examineServer, read } from './doctor-of-server.js';
import { examineWork, type GatewayState } from './doctor-of-work.js';

const HOUR = 3_600;
const DAY = 86_400;
const REVIEW_EVERY = 184 * DAY;
const LAST_ID = 2_147_483_647;
const CHAIN = 'journal’s chain';
const SEALED_ROWS = 'sealed rows';
const OPERATORS = 'operators';
const CHAIN_ENTRIES = 10_000;

export async function examineDatabase(database: Database, settings: Settings): Promise<CheckResult[]> {
  const about = await examineServer(database);
  const missing = await missingMigrations(database).catch((error: Error) => error.message);
  if (typeof missing === 'string' || missing.length > 0) {
    const found = typeof missing === 'string' ? missing : `is not current: ${missing.join(', ')} missing`;
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
    ...(await examineWork(database, state)),
    examinePages(state, settings),
    ...examineKeeping(state, settings),
  ];
}

/** Without the setting, links lead to where the listener is, which few payers reach. */
function examinePages({ isLive }: GatewayState, settings: Settings): CheckResult {
  const check = 'payers’ pages';
  const url = checkoutUrlOf(settings);
  if (url === undefined) return ok(check, 'there are none');
  const isMeant = settings.checkoutUrl !== undefined;
  if (isMeant || (!isLive && isLoopback(settings.checkout?.host ?? ''))) return ok(check, `are at ${url}`);
  return warning(
    check,
    `TOLLGATE_CHECKOUT_URL is not set: links of checkouts lead to ${url}`,
    'set it to where browsers find the pages, such as https://pay.example; without checkouts, set TOLLGATE_CHECKOUT_PORT=off',
  );
}

/** Checks that need the key-encryption key. */
async function examineSealed(database: Database, settings: Settings): Promise<CheckResult[]> {
  try {
    const provider = await checkKey(settings, database);
    return [
      ok('key of this database', 'opens what is sealed'),
      await examineChain(database, provider, settings).catch((error: Error) =>
        notChecked(CHAIN, error.message),
      ),
      await examineRows(database, provider).catch((error: Error) => notChecked(SEALED_ROWS, error.message)),
      await examineOperators(database, provider).catch((error: Error) =>
        notChecked(OPERATORS, error.message),
      ),
    ];
  } catch (error) {
    const { message } = error as Error;
    return [
      failure('key of this database', message, 'bring the right one: see docs/keys.md'),
      notChecked(CHAIN, 'it takes the key'),
      notChecked(SEALED_ROWS, 'it takes the key'),
      notChecked(OPERATORS, 'it takes the key'),
    ];
  }
}

/** As much as can be checked at once, from the end: tampering is most likely to hide recent entries. */
async function examineChain(
  database: Database,
  provider: KeyProvider,
  settings: Settings,
): Promise<CheckResult> {
  const key = await openInstallationKey(database, provider, 'journal');
  const known = await knownFrom(database, key, settings.journalAnchorFiles).catch((error: Error) => error);
  if (known instanceof Error)
    return failure(
      CHAIN,
      known.message,
      'bring back what TOLLGATE_JOURNAL_ANCHOR names: somebody has changed it',
    );
  const { entries, unchained, problems, problemCount } = await verifyEndOfJournal(
    database,
    key,
    CHAIN_ENTRIES,
    known,
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

/** What directs cards and money, and who may do what. */
async function examineRows(database: Database, provider: KeyProvider): Promise<CheckResult> {
  setSigner(database, new EntrySigner(await openInstallationKey(database, provider, 'journal')));
  const key = new CredentialKey(await openInstallationKey(database, provider, 'credentials'));
  const { rows, problems } = await verifySubjects(database, key);
  const [first] = problems;
  if (first === undefined) return ok(SEALED_ROWS, `${rows} are as they were sealed`);
  return failure(
    SEALED_ROWS,
    `${problems.length} of ${rows} are not as they were sealed, and not used; ${first.subject}: ${first.problem}`,
    'find out who writes to the database; `tollgate keys verify` shows all, and docs/keys.md how to put them right',
  );
}

/** Rules and operators that somebody changed in the database, and links that were made without a token. */
async function examineOperators(database: Database, provider: KeyProvider): Promise<CheckResult> {
  const key = new CredentialKey(await openInstallationKey(database, provider, 'credentials'));
  const rows = (await database.query<OperatorRow>(LIST_OPERATORS)).rows;
  const broken = rows.filter((row) => !isSealedOperator(key, row, row.seal)).map(({ name }) => name);
  if (broken.length > 0)
    return failure(
      OPERATORS,
      `somebody has changed ${broken.join(', ')} in the database`,
      'run `tollgate operator remove` for each; find out who writes to the database',
    );
  if (!(await readRules(database)).sealed)
    return failure(
      OPERATORS,
      'somebody has changed the rules of approvals in the database: everything needs a second person',
      'run `tollgate approval require`; find out who writes to the database',
    );
  const recovered = rows.filter(({ history }) =>
    history.some(
      ({ action, atMs }) => action === 'operator.recovered' && atMs > Date.now() - NOT_INDEPENDENT_MS,
    ),
  );
  if (recovered.length > 0)
    return warning(
      OPERATORS,
      `a sign-in link was made without a token for ${recovered.map(({ name }) => name).join(', ')}`,
      'ask who it was: `tollgate journal --action operator.recovered`',
    );
  return ok(OPERATORS, 'nobody has changed them, or what needs a second person, in the database');
}

function examineGateways(
  { processes, lostFrom, lostUntil, seenAheadSeconds, advancedMs, highestId }: GatewayState,
  settings: Settings,
): CheckResult[] {
  const left = LAST_ID - (highestId ?? 0);
  return [
    processes === 0
      ? failure(
          'processes',
          'no gateway is running on this database',
          'start one: what is in doubt waits for it',
        )
      : ok('processes', `${processes} running`),
    lostFrom === null || lostUntil === null
      ? ok('lost time', 'nothing is lost, or all of it was reconciled')
      : failure(
          'lost time',
          `what was processed from ${lostFrom.toISOString()} to ${lostUntil.toISOString()} is lost, and searches that find nothing are answered 503`,
          '`tollgate restored show` says what to reconcile, then `tollgate restored done`',
        ),
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

async function examineLinks(database: Database): Promise<CheckResult[]> {
  return (await listAcquirers(database)).map(examineLink);
}

function examineLink(link: ListedAcquirer): CheckResult {
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

function examineKeeping(state: GatewayState, { databaseUrl, environment }: Settings): CheckResult[] {
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
    state.brokenSeals === 0
      ? ok('seals', 'none was found broken within 7 days')
      : failure(
          'seals',
          `${state.brokenSeals} reports of broken seals within 7 days: somebody has changed the database`,
          '`tollgate keys verify` names what was changed; find out who writes to the database',
        ),
    state.journalGuards === 2
      ? ok('journal', 'can only be appended to')
      : failure(
          'journal',
          'its triggers are switched off or gone',
          'somebody can have changed it: find out who, and restore them',
        ),
    environment === 'development'
      ? ok('review of access', 'is not wanted outside production')
      : byAge(
          'review of access',
          state.unreviewedSeconds,
          { warnAbove: REVIEW_EVERY },
          {
            nothing: 'there are no operators yet',
            found: (age) => `the last one, or the first operator, is ${age} old`,
            todo: '`tollgate operator review`, every six months (PCI DSS 7.2.4)',
          },
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
