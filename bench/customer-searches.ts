// The searches for customers that are measured, and how: through HTTP, at two gateways in turns, and what the plan of each reads.
import type { Database } from '../src/postgres/database.js';
import type { MerchantId, OrganisationId } from '../src/values/ids.js';
import { type CustomerSearch, Customers, type VaultAccess } from '../src/vault/customers.js';
import { type CallAnswer, call } from '../testkit/caller.js';
import { explaining, nodesOf, type PlanNode } from '../testkit/explained.js';
import { median } from '../testkit/report.js';
import type { StandaloneGateway } from '../testkit/standalone.js';
import {
  FREQUENT_NAME,
  LATE_NAME,
  NOBODYS_NAME,
  RARE_NAME,
  referenceOf,
  SHARE_OF_MERCHANT_1,
  UNCOMMON_NAME,
} from './stored-customers.js';

type Query = Partial<Omit<CustomerSearch, 'after'>> & { readonly merchant_id?: number };

export interface Search {
  readonly what: string;
  /** What is asked for, where so many customers are stored. */
  query(round: number, stored: number): Query;
  /** Pages that are followed by `next`, each timed by itself. One unless told. */
  readonly pages?: number;
  /** Whether it is held against the same among few. */
  readonly isHeld?: true;
}

/** One of merchant 1's. */
const anyId = (round: number, stored: number) =>
  ((round * 7_919) % Math.floor(stored / 100)) * 100 + 1 + (round % 69);
const always = (query: Query) => () => query;

export const SEARCHES: readonly Search[] = [
  {
    what: 'a whole reference',
    query: (round, stored) => ({ reference: referenceOf(anyId(round, stored)) }),
    isHeld: true,
  },
  {
    what: 'the last five digits of a reference',
    query: (round, stored) => ({ reference: referenceOf(anyId(round, stored)).slice(-5) }),
  },
  { what: 'a reference that nobody has', query: always({ reference: 'cust-99999999' }) },
  { what: 'a frequent name (1 in 100)', query: always({ name: FREQUENT_NAME }) },
  { what: '… by reference', query: always({ name: FREQUENT_NAME, ordering: 'reference' }) },
  { what: '… by customer_id', query: always({ name: FREQUENT_NAME, ordering: 'customer_id' }) },
  { what: '… ten pages by next', query: always({ name: FREQUENT_NAME }), pages: 10 },
  { what: 'a first name late in the alphabet', query: always({ name: `${LATE_NAME} ` }) },
  { what: 'an uncommon name (1 in 20,000)', query: always({ name: UNCOMMON_NAME }) },
  {
    what: '… by customer_id, a page of 10',
    query: always({ name: UNCOMMON_NAME, ordering: 'customer_id', limit: 10 }),
  },
  { what: 'a rare name (three of all)', query: always({ name: RARE_NAME }) },
  { what: '… a page of one', query: always({ name: RARE_NAME, limit: 1 }), isHeld: true },
  {
    what: '… by customer_id, a page of 10',
    query: always({ name: RARE_NAME, ordering: 'customer_id', limit: 10 }),
  },
  { what: 'a name that nobody has', query: always({ name: NOBODYS_NAME }) },
  { what: '… a page of one', query: always({ name: NOBODYS_NAME, limit: 1 }) },
  { what: 'the first three letters of a frequent name', query: always({ name: FREQUENT_NAME.slice(0, 3) }) },
  { what: 'two letters that many names have', query: always({ name: FREQUENT_NAME.slice(0, 2) }) },
  { what: 'two letters that no name has', query: always({ name: 'zq' }) },
  { what: 'first page by name', query: always({}), isHeld: true },
  { what: 'first page by reference', query: always({ ordering: 'reference' }), isHeld: true },
  { what: 'first page by customer_id', query: always({ ordering: 'customer_id' }), isHeld: true },
  { what: 'ten pages by next, by name', query: always({}), pages: 10, isHeld: true },
  {
    what: 'an offset of nine tenths',
    query: (_, stored) => ({ offset: Math.floor(stored * SHARE_OF_MERCHANT_1 * 0.9) }),
  },
  { what: 'of a small merchant: first page', query: always({ merchant_id: 2 }), isHeld: true },
  { what: '… a frequent name', query: always({ merchant_id: 2, name: FREQUENT_NAME }) },
  { what: '… a name that only others have', query: always({ merchant_id: 2, name: RARE_NAME }) },
  { what: '… two letters that no name has', query: always({ merchant_id: 2, name: 'zq' }) },
];

export function pathOf(query: Query): string {
  const parameters = Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]);
  return `/v1/customers?${new URLSearchParams(parameters)}`;
}

/** A search at one gateway. */
export class Side {
  readonly #timesMs: number[] = [];
  /** How often the first page had how many, or was answered otherwise. */
  readonly answers = new Map<string, number>();
  constructor(
    private readonly gateway: StandaloneGateway,
    private readonly stored: number,
  ) {}

  /** One round of it: every page. */
  async ask({ what, query, pages = 1, isHeld }: Search, round: number): Promise<void> {
    const caller = { ...this.gateway, baseUrl: new URL(this.gateway.baseUrl).origin };
    let path: string | undefined = pathOf(query(round, this.stored));
    for (let page = 1; page <= pages && path !== undefined; page += 1) {
      const startedMs = performance.now();
      const { status, code, body }: CallAnswer = await call(caller, 'GET', path, { timeoutMs: 60_000 });
      this.#timesMs.push(performance.now() - startedMs);
      if (status !== 200 && status !== 503)
        throw new Error(`${what}: ${path} was answered ${status} ${code}`);
      if (isHeld && !(body.results?.length > 0)) throw new Error(`${what}: ${path} has found nobody`);
      const answer = status === 200 ? `${body.results.length} found` : `${status} ${code}`;
      if (page === 1) this.answers.set(answer, (this.answers.get(answer) ?? 0) + 1);
      path = body._links?.next?.href;
    }
  }

  get p50Ms(): number {
    return median(this.#timesMs);
  }

  get worstMs(): number {
    return Math.max(...this.#timesMs);
  }
}

/** The rows that the largest step of the plan of its first page looks at, and the indexes that it goes by. */
export async function planOf(database: Database, { query }: Search, stored: number): Promise<string> {
  const plans: PlanNode[] = [];
  const explained = { of: () => explaining(database, plans) };
  const customers = new Customers({ leases: database, vault: explained, searches: explained }, async () => 0);
  const { merchant_id = 1, ...search } = query(1, stored);
  const whose = { organisationId: 1 as OrganisationId, merchantId: merchant_id as MerchantId } as VaultAccess;
  await customers.search(whose, { ordering: 'name', limit: 100, offset: 0, ...search });
  const nodes = plans.flatMap(nodesOf);
  const rowsOf = (node: PlanNode) =>
    (node['Actual Rows'] +
      (node['Rows Removed by Filter'] ?? 0) +
      (node['Rows Removed by Index Recheck'] ?? 0)) *
    node['Actual Loops'];
  const indexes = nodes
    .flatMap((node) => node['Index Name'] ?? [])
    .filter((name) => name !== 'customer_pkey');
  return `${Math.max(...nodes.map(rowsOf)).toLocaleString('en')} by ${[...new Set(indexes)].join(', ') || 'no index'}`;
}
