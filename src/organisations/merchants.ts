// Merchants, for whom payments are: added, changed and listed by the operator. This room owns their table.
import type { JournalAction } from '../journal/journal.js';
import { isCheckViolation, type Queryable, type Statement } from '../postgres/database.js';
import { count, FLAG, ID, TEXT, TEXTS, text } from '../tasks/kinds.js';
import { type Doing, needed, nullable, optional, task } from '../tasks/task.js';
import type { MerchantId, OrganisationId } from '../values/ids.js';
import type { Mode } from '../values/mode.js';
import { Refusal, refuse } from '../values/refusal.js';
import { coloursOnPages, setBrand } from './brand.js';
import { readLogo } from './logo.js';
import {
  ADD_MERCHANT,
  FIND_MERCHANT,
  HAS_LIVE_MERCHANT,
  LIST_MERCHANTS,
  SET_MERCHANT,
  SHOW_MERCHANT,
  SUSPEND_MERCHANT,
} from './merchants.sql.js';
import { checkedName } from './names.js';
import {
  type AcceptorWish,
  checkAcceptor,
  checkAcquirer,
  isTerminalTaken,
  permitAcceptor,
  SIMULATOR,
} from './routing/merchant-acquirers.js';
import { journalMerchant, lockMerchant } from './sealed-merchant.js';

export interface MerchantView {
  readonly id: MerchantId;
  readonly organisation: OrganisationId;
  readonly name: string;
  readonly mode: Mode;
  readonly vault: boolean;
  readonly preauthorisationDays: number;
  readonly cardDays: number;
  /** The link for its cards, if it has one. */
  readonly acquirer: string | null;
  /** Since when nothing is created or changed for it, if so. */
  readonly suspendedAt?: Date;
  /** What that acquirer knows it by, as far as it was set. */
  readonly acceptorId?: string;
  readonly terminals?: readonly string[];
  readonly categoryCode?: string;
  /** How it looks to payers, as far as it was set. */
  readonly displayName?: string;
  readonly colour?: string;
  readonly logoBytes?: number;
}

type MerchantRow = Omit<MerchantView, keyof Optional> & {
  readonly [Member in keyof Optional]: Optional[Member] | null;
};
type Optional = Required<
  Pick<
    MerchantView,
    'acceptorId' | 'terminals' | 'categoryCode' | 'suspendedAt' | 'displayName' | 'colour' | 'logoBytes'
  >
>;

export interface MerchantChange extends AcceptorWish {
  readonly name?: string | undefined;
  readonly vault?: boolean | undefined;
  readonly preauthorisationDays?: number | undefined;
  /** For how many days what was paid by card can be refunded, and the card is kept for that. */
  readonly cardDays?: number | undefined;
}

export interface NewMerchant extends AcceptorWish {
  readonly vault?: boolean | undefined;
  readonly preauthorisationDays?: number | undefined;
  readonly cardDays?: number | undefined;
  /** A merchant is test or live from the beginning, and for good. */
  readonly live?: boolean | undefined;
}

/** A process that is not heard of for this long counts as gone, whatever its clock: the trigger of the table knows it. */
const PROCESS_GONE_AFTER_SECONDS = 20;

export async function addMerchant(
  database: Queryable,
  operator: string,
  organisation: number,
  name: string,
  { vault = false, preauthorisationDays = 7, cardDays = 120, live = false, ...acceptor }: NewMerchant = {},
): Promise<MerchantView> {
  const mode: Mode = live ? 'live' : 'test';
  await permitAcceptor(database, operator, 'merchant add', acceptor);
  checkAcceptor(acceptor);
  const { acquirer = live ? null : SIMULATOR, acceptorId, terminals, categoryCode } = acceptor;
  const values = [
    organisation,
    checkedName(name),
    vault,
    preauthorisationDays,
    cardDays,
    mode,
    acquirer,
    acceptorId ?? null,
    terminals ?? null,
    categoryCode ?? null,
  ];
  try {
    const added = await change(database, operator, 'merchant.added', ADD_MERCHANT, values, { acceptor });
    return added ?? refuse('organisation_not_found', { organisation });
  } catch (error) {
    throw refusalOfLive(error) ?? error;
  }
}

/** Changes what is named, and nothing else. */
export async function setMerchant(
  database: Queryable,
  operator: string,
  merchant: number,
  { name, vault, preauthorisationDays, cardDays, ...acceptor }: MerchantChange,
): Promise<MerchantView> {
  const newName = name === undefined ? null : checkedName(name);
  await permitAcceptor(database, operator, 'merchant set', acceptor);
  checkAcceptor(acceptor);
  const { acquirer, acceptorId, terminals, categoryCode } = acceptor;
  const values = [
    merchant,
    newName,
    vault ?? null,
    preauthorisationDays ?? null,
    cardDays ?? null,
    acquirer !== undefined,
    acquirer ?? null,
    acceptorId ?? null,
    terminals ?? null,
    categoryCode ?? null,
  ];
  const about = { merchant, acceptor };
  const changed = await change(database, operator, 'merchant.changed', SET_MERCHANT, values, about);
  return changed ?? refuse('merchant_not_found', { merchant });
}

/** From now on nothing is created or changed for it: known to every process within two seconds. Idempotent. */
export function suspendMerchant(
  database: Queryable,
  operator: string,
  merchant: number,
): Promise<MerchantView> {
  return suspension(database, operator, merchant, true);
}

/** Takes a suspension back. Idempotent. */
export function resumeMerchant(
  database: Queryable,
  operator: string,
  merchant: number,
): Promise<MerchantView> {
  return suspension(database, operator, merchant, false);
}

async function suspension(
  database: Queryable,
  operator: string,
  merchant: number,
  isSuspended: boolean,
): Promise<MerchantView> {
  const action = isSuspended ? 'merchant.suspended' : 'merchant.resumed';
  const values = [merchant, isSuspended];
  const changed = await change(database, operator, action, SUSPEND_MERCHANT, values, { merchant });
  return changed ?? refuse('merchant_not_found', { merchant });
}

/** Of every organisation, or of one. */
export async function listMerchants(database: Queryable, organisation?: number): Promise<MerchantView[]> {
  return (await database.query<MerchantRow>(LIST_MERCHANTS, [organisation ?? null])).rows.map(viewOf);
}

/** For what is about one merchant, or about all: one that does not exist has nothing, and that would look like an answer. */
export async function checkMerchant(database: Queryable, merchant: number | undefined): Promise<void> {
  if (merchant === undefined) return;
  const { count } = await database.query(FIND_MERCHANT, [merchant]);
  if (count === 0) refuse('merchant_not_found', { merchant });
}

/** For tasks that need a second person where real cards are concerned. */
export async function ofLiveMerchant(
  { database }: Pick<Doing, 'database'>,
  { merchant }: { readonly merchant: number },
): Promise<boolean> {
  const { rows } = await database.query<{ mode: Mode }>(FIND_MERCHANT, [merchant]);
  return (rows[0] ?? refuse('merchant_not_found', { merchant })).mode === 'live';
}

/** Live as soon as one merchant is: of this organisation, or of all. */
export async function modeOf(database: Queryable, organisation?: OrganisationId): Promise<Mode> {
  return (await database.query(HAS_LIVE_MERCHANT, [organisation ?? null])).count > 0 ? 'live' : 'test';
}

/** Undefined where there is nothing to change, or nobody to add it to. */
function change(
  database: Queryable,
  operator: string,
  action: JournalAction,
  statement: Statement,
  values: readonly unknown[],
  { merchant: earlier, acceptor = {} }: { readonly merchant?: number; readonly acceptor?: AcceptorWish },
): Promise<MerchantView | undefined> {
  return database.transaction(async (connection) => {
    if (earlier !== undefined) await lockMerchant(connection, earlier);
    const { rows } = await connection.query<MerchantRow>(statement, values).catch(refusing);
    const merchant = rows[0] && viewOf(rows[0]);
    if (merchant === undefined) return undefined;
    // After it is written: what is refused is taken back with it.
    if (Object.values(acceptor).some((given) => given !== undefined))
      await checkAcquirer(connection, merchant);
    const { id, mode, vault, cardDays } = merchant;
    const detail = [
      mode,
      vault ? 'with vault' : 'without vault',
      `cards kept ${cardDays} days`,
      ...(merchant.acquirer === null ? [] : [merchant.acquirer]),
      ...(merchant.acceptorId === undefined ? [] : [merchant.acceptorId]),
    ].join(', ');
    await journalMerchant(connection, { actor: operator, action, detail }, id);
    return merchant;
  });
}

function viewOf({
  acceptorId,
  terminals,
  categoryCode,
  suspendedAt,
  displayName,
  colour,
  logoBytes,
  ...merchant
}: MerchantRow): MerchantView {
  return {
    ...merchant,
    ...(acceptorId !== null && { acceptorId }),
    ...(terminals !== null && { terminals }),
    ...(categoryCode !== null && { categoryCode }),
    ...(suspendedAt !== null && { suspendedAt }),
    ...(displayName !== null && { displayName }),
    ...(colour !== null && { colour }),
    ...(logoBytes !== null && { logoBytes }),
  };
}

function refusing(error: unknown): never {
  if (isTerminalTaken(error)) {
    const rule = 'belong to another merchant of this acquirer, with this acceptor ID';
    refuse('acceptor_not_allowed', { problems: [{ field: 'terminals', rule }] });
  }
  if (isCheckViolation(error, 'live_is_never_simulated'))
    refuse('acquirer_of_other_mode', { acquirer: SIMULATOR, mode: 'test' });
  throw error;
}

/** Real payments need real time. The database decides, since the clock may be moved at the same moment. */
function refusalOfLive(error: unknown): Refusal | undefined {
  if (isCheckViolation(error, 'live_needs_real_time')) {
    return new Refusal('live_merchant_needs_real_time', undefined);
  }
  if (isCheckViolation(error, 'live_needs_processes_in_time')) {
    const details = { retryAfterSeconds: PROCESS_GONE_AFTER_SECONDS };
    return new Refusal('live_merchant_needs_processes_in_time', details);
  }
  return undefined;
}

export async function showMerchant(database: Queryable, merchant: number): Promise<MerchantView> {
  const { rows } = await database.query<MerchantRow>(SHOW_MERCHANT, [merchant]);
  return rows[0] === undefined ? refuse('merchant_not_found', { merchant }) : viewOf(rows[0]);
}

function isGiven(change: object): boolean {
  return Object.values(change).some((given) => given !== undefined);
}

/** Payers have light or dark pages, and one colour is seldom readable on both. */
function colourInWords(colour: string): string {
  const { light, dark } = coloursOnPages(colour);
  const isAs = (shown: string) => (shown === colour ? 'as it is' : `as ${shown}, so that it can be read`);
  return `Light pages show ${colour} ${isAs(light)}, dark ones ${isAs(dark)}.`;
}

const MERCHANT = needed(ID, '<id>', 'the merchant', { names: 'merchants' });
const PREAUTHORISATION_DAYS = [
  '--preauthorisation-days <days>',
  'how long a preauthorisation can be completed',
] as const;
const CARD_DAYS = [
  '--card-days <days>',
  'how long card payments can be refunded; then their cards are destroyed',
] as const;
const ACCEPTOR = {
  acceptorId: optional(TEXT, '--acceptor-id <id>', 'what its acquirer knows it by: up to 15 characters'),
  terminals: optional(
    TEXTS,
    '--terminals <list>',
    'its terminals at its acquirer, up to 8 characters each, with commas between; payments go over them in turns',
  ),
  categoryCode: optional(TEXT, '--category-code <mcc>', 'its merchant category code: four digits'),
};

export const MERCHANTS = {
  name: 'merchant',
  help: 'merchants are who payments are for',
  tasks: [
    task({
      name: 'merchant add',
      help: 'add a merchant',
      role: 'administrator',
      scope: 'organisation',
      route: 'POST /merchants',
      fresh: true,
      input: {
        name: needed(TEXT, '<name>', 'what it is called'),
        organisation: needed(ID, '--organisation <id>', 'the organisation that owns it', {
          names: 'organisations',
        }),
        vault: optional(FLAG, '--vault', 'with the vault product'),
        live: optional(
          FLAG,
          '--live',
          'for real payments, by live links only; without it the merchant is test, and stays so',
        ),
        preauthorisationDays: optional(count(365), ...PREAUTHORISATION_DAYS, { default: 7 }),
        cardDays: optional(count(3_650), ...CARD_DAYS, { default: 120 }),
        acquirer: nullable(
          TEXT,
          '--acquirer <name>',
          'the link over which its cards are paid (default: simulator for a test merchant, none for a live one)',
        ),
        ...ACCEPTOR,
      },
      run: ({ database, actor }, { organisation, name, ...wish }) =>
        addMerchant(database, actor, organisation, name, wish),
      says: ({ id, name, mode }) => `Merchant ${id} (${name}) added, ${mode}.`,
    }),
    task({
      name: 'merchant list',
      help: 'list the merchants',
      role: 'viewer',
      scope: 'organisation',
      route: 'GET /merchants',
      fenced: true,
      input: {
        organisation: optional(ID, '--organisation <id>', 'only of this organisation', {
          names: 'organisations',
        }),
      },
      run: ({ database, fence }, { organisation }) => listMerchants(database, fence ?? organisation),
    }),
    task({
      name: 'merchant set',
      help: 'change a merchant',
      role: 'administrator',
      scope: 'organisation',
      route: 'POST /merchants/:merchant',
      fresh: true,
      secondPerson: {
        for: 'links',
        when: async (doing, { merchant, acquirer, acceptorId, terminals, categoryCode }) =>
          [acquirer, acceptorId, terminals, categoryCode].some((given) => given !== undefined) &&
          ofLiveMerchant(doing, { merchant }),
      },
      input: {
        merchant: MERCHANT,
        vault: optional(FLAG, '--vault', 'give it the vault product', {
          without: ['--no-vault', 'take the vault product away'],
        }),
        name: optional(TEXT, '--name <name>', 'rename it'),
        preauthorisationDays: optional(count(365), ...PREAUTHORISATION_DAYS),
        cardDays: optional(count(3_650), ...CARD_DAYS),
        acquirer: nullable(TEXT, '--acquirer <name>', 'the link over which its cards are paid from now on', {
          without: ['--no-acquirer', 'take no cards any more'],
        }),
        ...ACCEPTOR,
        displayName: nullable(TEXT, '--display-name <name>', 'what payers read instead of its name', {
          without: ['--no-display-name', 'payers read its name'],
        }),
        colour: nullable(
          TEXT,
          '--colour <colour>',
          'of buttons and links on payers’ pages, such as #0b5cad',
          {
            without: ['--no-colour', 'the usual colour'],
          },
        ),
        logo: optional(
          text(4_096),
          '--logo <file>',
          'for payers’ pages: a PNG or a plain SVG of 64 kB at most',
          {
            only: 'command',
          },
        ),
        removeLogo: optional(FLAG, '--remove-logo', 'show no logo any more', { excludes: '--logo <file>' }),
      },
      run: ({ database, actor }, { merchant, displayName, colour, logo, removeLogo, ...change }) =>
        database.transaction(async (connection) => {
          const file = logo === undefined ? undefined : await readLogo(logo);
          const brand = { displayName, colour, logo: removeLogo === true ? null : file };
          if (!isGiven(brand)) return setMerchant(connection, actor, merchant, change);
          await setBrand(connection, actor, merchant, brand);
          return isGiven(change)
            ? setMerchant(connection, actor, merchant, change)
            : showMerchant(connection, merchant);
        }),
      says: ({ id, name, vault, acquirer, colour }, given) => {
        if (given.colour) return `Merchant ${id} (${name}) is changed. ${colourInWords(colour ?? '')}`;
        const sentence = `Merchant ${id} (${name}) ${vault ? 'has' : 'does not have'} the vault.`;
        if (given.acquirer === undefined) return sentence;
        return `${sentence} It ${acquirer === null ? 'has no acquirer' : `pays over ${acquirer}`}.`;
      },
    }),
    task({
      name: 'merchant suspend',
      help: 'create and change nothing for a merchant, within two seconds; it can be looked up',
      role: 'administrator',
      scope: 'organisation',
      route: 'POST /merchants/:merchant/suspend',
      fresh: true,
      input: { merchant: MERCHANT },
      run: ({ database, actor }, { merchant }) => suspendMerchant(database, actor, merchant),
      says: ({ id, name }) => `Merchant ${id} (${name}) is suspended.`,
    }),
    task({
      name: 'merchant resume',
      help: 'end the suspension of a merchant, within two seconds',
      role: 'administrator',
      scope: 'organisation',
      route: 'POST /merchants/:merchant/resume',
      fresh: true,
      input: { merchant: MERCHANT },
      run: ({ database, actor }, { merchant }) => resumeMerchant(database, actor, merchant),
      says: ({ id, name }) => `Merchant ${id} (${name}) is not suspended.`,
    }),
  ],
} as const;
