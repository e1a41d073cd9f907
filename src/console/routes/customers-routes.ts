// Routes by which customers and their tokens are found and looked at: masked, as everywhere.
import { MAX_INTEGER } from '../../api/limits.js';
import { Limit } from '../../api/pages.js';
import { Type } from '../../api/typebox.js';
import { withShortTimeout } from '../../postgres/short-timeout.js';
import { containsCardNumber, isVirtualPan } from '../../values/card.js';
import { outward } from '../../values/snake-case.js';
import {
  type CustomerPage,
  type CustomerPageEnd,
  findCustomers,
  showCustomer,
  tokensByVirtualPan,
} from '../../vault/customer-search.js';
import { permissionOf } from '../all-tasks.js';
import { numberIn } from '../fence.js';
import type { Answer, CustomerAnswer, CustomersAnswer } from '../interface.js';
import { ConsoleProblem } from '../problems.js';
import { After, decodedEnd, encodedEnd, queryReader } from '../query.js';
import { type Route, route } from '../route.js';
import { Scope } from './scope.js';

const PAGE_LIMIT = 100;
/** Of a name or reference; fewer are in too many. */
const LEAST_CHARACTERS = 3;

const readList = queryReader(
  Type.Object({ ...Scope, q: Type.Optional(Type.String({ maxLength: 200 })), limit: Limit, after: After }),
);
const readTokens = queryReader(
  Type.Object({ ...Scope, virtual_pan: Type.String({ pattern: '^[0-9]{16}$' }) }),
);

export const CUSTOMER_ROUTES: readonly Route[] = [
  route(
    { method: 'GET', path: '/customers', permission: permissionOf('customer list') },
    async ({ query, database, fence }): Promise<CustomersAnswer> => {
      const { q, limit = PAGE_LIMIT, after, organisation, merchant, mode } = readList(query);
      // guard(console: customers of an operator keep within the organisation): : fence ?? organisation ⇒
      const scope = { organisation: fence ?? organisation, merchant, mode };
      const wish = { limit, after: decodedEnd<CustomerPageEnd>(after, 'organisation') };
      const wanted = wantedIn(q);
      return withShortTimeout(database, async (connection) => {
        if (wanted?.kind !== 'virtual PAN')
          return answerOf(await findCustomers(connection, scope, wanted?.value, wish));
        const tokens = await tokensByVirtualPan(connection, scope, wanted.value);
        const owners = await Promise.all(
          tokens.map(({ organisation: of, customer }) =>
            findCustomers(connection, { ...scope, organisation: of }, customer, wish),
          ),
        );
        return answerOf({ results: owners.flatMap(({ results }) => results), end: null });
      });
    },
  ),
  route(
    { method: 'GET', path: '/customers/:organisation/:id', permission: permissionOf('customer show') },
    async ({ params, database }): Promise<CustomerAnswer> => {
      const [organisation, id] = [numberIn(params.organisation), numberIn(params.id)];
      return outward(
        await withShortTimeout(database, (connection) => showCustomer(connection, organisation, id)),
      );
    },
  ),
  route(
    { method: 'GET', path: '/tokens', role: 'viewer', scope: 'organisation' },
    async ({ query, database, fence }): Promise<Answer<'GET /tokens'>> => {
      const { virtual_pan: virtualPan, organisation, merchant, mode } = readTokens(query);
      const scope = { organisation: fence ?? organisation, merchant, mode };
      return withShortTimeout(database, async (connection) =>
        (await tokensByVirtualPan(connection, scope, virtualPan)).map(outward),
      );
    },
  ),
];

type Wanted =
  | { readonly kind: 'virtual PAN'; readonly value: string }
  | { readonly kind: 'words'; readonly value: string | number };

/** What stands in the search box; undefined where nothing does. */
function wantedIn(q = ''): Wanted | undefined {
  const text = q.trim();
  if (text === '') return undefined;
  if (containsCardNumber(text)) throw new ConsoleProblem('card_number_misplaced', ['query', 'q']);
  const joined = text.replaceAll(/[ -]/g, '');
  if (isVirtualPan(joined)) return { kind: 'virtual PAN', value: joined };
  if (/^[0-9]{1,10}$/.test(text) && Number(text) > 0 && Number(text) <= MAX_INTEGER)
    return { kind: 'words', value: Number(text) };
  if (text.length < LEAST_CHARACTERS) throw new ConsoleProblem('field_too_short', ['query', 'q']);
  return { kind: 'words', value: text };
}

function answerOf({ end, ...page }: CustomerPage): CustomersAnswer {
  return { ...outward(page), next: encodedEnd(end) };
}
