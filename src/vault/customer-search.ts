// Finds customers and tokens for operators: masked as merchants see them, and never a card number.
import type { JournalView } from '../journal/journal-tasks.js';
import { JOURNAL_OF_CUSTOMER } from '../journal/journal-tasks.sql.js';
import type { Queryable } from '../postgres/database.js';
import type { MerchantId, OrganisationId } from '../values/ids.js';
import type { Mode } from '../values/mode.js';
import type { PageEnd } from '../values/page.js';
import { refuse } from '../values/refusal.js';
import type { ShownAccount } from './account.js';
import {
  CUSTOMERS_BY_ID,
  CUSTOMERS_LIKE,
  LIST_CUSTOMERS,
  MERCHANTS_TO_SEARCH,
  TOKENS_BY_VIRTUAL_PAN,
  TOKENS_OF_CUSTOMER_SHOWN,
} from './customer-search.sql.js';
import { containing } from './customers.js';

export interface FoundCustomer {
  readonly organisation: number;
  readonly merchant: number;
  readonly mode: Mode;
  readonly id: number;
  readonly name: string;
  readonly reference: string;
}

/** Where a page ended; IDs are numbers within an organisation. */
export interface CustomerPageEnd extends PageEnd {
  readonly organisation: number;
}

export interface CustomerPage {
  readonly results: readonly FoundCustomer[];
  readonly end: CustomerPageEnd | null;
}

export interface FoundToken {
  readonly organisation: number;
  readonly merchant: number;
  readonly customer: number;
  readonly id: number;
  readonly virtualPan: string;
  readonly preferredName: string | null;
  readonly active: boolean;
  readonly deleted: boolean;
  /** `creditcard` or `bankaccount`, and its visible part, such as `411111******1111`. */
  readonly accountType: string;
  readonly account: string | null;
  readonly accountName: string | null;
}

export interface CustomerDetails extends FoundCustomer {
  /** Deleted tokens, too: payments made with them remain. */
  readonly tokens: readonly FoundToken[];
  /** The changes to the customer and its tokens, newest first. */
  readonly journal: readonly JournalView[];
}

interface Scope {
  readonly organisation?: number | undefined;
  readonly merchant?: number | undefined;
  readonly mode?: Mode | undefined;
}

interface CustomerRow extends FoundCustomer {
  readonly place: string;
}

interface TokenRow extends Omit<FoundToken, 'account' | 'accountName'> {
  readonly shown: ShownAccount | null;
}

/** If a customer has more, the newest are shown. */
const TOKENS_AT_MOST = 100;
const ENTRIES_AT_MOST = 100;

/** All customers by name, those with a text in their name or reference, or the one with a given number in each organisation. */
export async function findCustomers(
  database: Queryable,
  scope: Scope,
  wanted: string | number | undefined,
  { limit, after }: { readonly limit: number; readonly after?: CustomerPageEnd | undefined },
): Promise<CustomerPage> {
  const { organisations, merchants } = await merchantsIn(database, scope);
  if (typeof wanted === 'number') {
    const values = [[...new Set(organisations)], merchants, wanted];
    const { rows } = await database.query<CustomerRow>(CUSTOMERS_BY_ID, values);
    return { results: rows.map(shownCustomer), end: null };
  }
  const like = wanted === undefined ? [] : [containing(wanted)];
  const { rows } = await database.query<CustomerRow>(
    wanted === undefined ? LIST_CUSTOMERS : CUSTOMERS_LIKE,
    // One extra row shows whether there is a next page.
    [
      organisations,
      merchants,
      limit + 1,
      after?.place ?? '',
      after?.organisation ?? 0,
      after?.id ?? 0,
      ...like,
    ],
  );
  const results = rows.slice(0, limit);
  const last = rows.length > limit ? results.at(-1) : undefined;
  const end = last === undefined ? null : { place: last.place, id: last.id, organisation: last.organisation };
  return { results: results.map(shownCustomer), end };
}

export async function showCustomer(
  database: Queryable,
  organisation: number,
  id: number,
): Promise<CustomerDetails> {
  const [customer] = (await findCustomers(database, { organisation }, id, { limit: 1 })).results;
  if (customer === undefined) return refuse('customer_not_found', { customer: id });
  const tokens = await database.query<TokenRow>(TOKENS_OF_CUSTOMER_SHOWN, [organisation, id, TOKENS_AT_MOST]);
  const entries = await database.query<JournalView>(JOURNAL_OF_CUSTOMER, [organisation, id, ENTRIES_AT_MOST]);
  return { ...customer, tokens: tokens.rows.map(shownToken), journal: entries.rows };
}

/** Tokens with this virtual PAN; each organisation assigns its own. */
export async function findTokens(
  database: Queryable,
  virtualPan: string,
  organisations: readonly OrganisationId[],
  merchants: readonly MerchantId[],
): Promise<FoundToken[]> {
  const values = [organisations, merchants, virtualPan];
  return (await database.query<TokenRow>(TOKENS_BY_VIRTUAL_PAN, values)).rows.map(shownToken);
}

export async function tokensByVirtualPan(
  database: Queryable,
  scope: Scope,
  virtualPan: string,
): Promise<FoundToken[]> {
  const { organisations, merchants } = await merchantsIn(database, scope);
  return findTokens(database, virtualPan, [...new Set(organisations)], merchants);
}

/** At the same time. */
async function merchantsIn(
  database: Queryable,
  { merchant, organisation, mode }: Scope,
): Promise<{ organisations: OrganisationId[]; merchants: MerchantId[] }> {
  const values = [merchant ?? null, organisation ?? null, mode ?? null];
  const { rows } = await database.query<{ organisation: OrganisationId; id: MerchantId }>(
    MERCHANTS_TO_SEARCH,
    values,
  );
  return { organisations: rows.map((row) => row.organisation), merchants: rows.map(({ id }) => id) };
}

function shownCustomer({ place: _place, ...customer }: CustomerRow): FoundCustomer {
  return customer;
}

/** The visible part of an account is stored masked. */
function shownToken({ shown, ...token }: TokenRow): FoundToken {
  const account = shown?.['CARD.PAN'] ?? shown?.['BANK.ACCOUNT_NUMBER'] ?? null;
  return { ...token, account, accountName: shown?.['CARD.NAME'] ?? shown?.['BANK.ACCOUNT_NAME'] ?? null };
}
