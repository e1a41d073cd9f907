// Routes that move money, or have the acquirer asked about it: the same requests as `tollgate transaction` makes, and what a second
// operator says to them.
import { Type } from '../../api/typebox.js';
import type { OtherTask } from '../../operators/operator-roles.js';
import { askNow } from '../../payments/doubt/doubts.js';
import { approveRequest, listRequests, refuseRequest } from '../../payments/requests/approvals.js';
import type { OperatorsOperation } from '../../payments/requests/operator-request.js';
import { requestOperation } from '../../payments/requests/operator-requests.js';
import { outward } from '../../values/snake-case.js';
import { numberIn } from '../fence.js';
import { AMOUNT_CENTS, REASON } from '../fields.js';
import { type Route, route } from '../route.js';

const LISTED = 100;
/** The page makes it when a form is opened, and sends it with every attempt. */
const KEY = Type.String({ maxLength: 64 });
const ASKED = { reason: REASON, key: KEY };
const DECISION = Type.Object({ reason: Type.Optional(REASON) });

function operation(name: OperatorsOperation, task: OtherTask): Route {
  return route(
    {
      method: 'POST',
      path: `/transactions/:organisation/:audit/${name}`,
      task,
      recent: true,
      body: Type.Object({ ...ASKED, amount_cents: Type.Optional(AMOUNT_CENTS) }),
    },
    async ({ database, actor, parts, params, body }) => {
      const { organisation, audit } = params as { organisation: string; audit: string };
      const { reason, key, amount_cents } = body;
      const made = await requestOperation(database, actor, parts.requests, {
        operation: name,
        organisation: numberIn(organisation),
        audit: numberIn(audit),
        reason,
        key,
        ...(name !== 'void' && { amountCents: amount_cents }),
      });
      return outward(made);
    },
  );
}

export const MONEY_ROUTES: readonly Route[] = [
  operation('void', 'transaction void'),
  operation('refund', 'transaction refund'),
  operation('completion', 'transaction complete'),
  route(
    { method: 'POST', path: '/transactions/:organisation/:audit/ask', task: 'transaction ask' },
    async ({ database, actor, parts, params }) => {
      const wish = { organisation: numberIn(params.organisation), audit: numberIn(params.audit) };
      return outward(await askNow(database, actor, parts.acquirerDeadlineMs, wish));
    },
  ),
  route({ method: 'GET', path: '/approvals', task: 'approval list' }, async ({ database, fence, query }) => {
    const given = (name: string) => (query.has(name) ? numberIn(query.get(name)) : undefined);
    const requests = await listRequests(database, {
      organisation: fence ?? given('organisation'),
      audit: given('audit'),
      all: query.get('all') === 'true',
      limit: Math.min(given('limit') ?? LISTED, LISTED),
    });
    return requests.map(outward);
  }),
  route(
    {
      method: 'POST',
      path: '/approvals/:request/approve',
      task: 'approval approve',
      recent: true,
      body: DECISION,
    },
    async ({ database, actor, parts, fence, params, body }) => {
      const decision = { request: numberIn(params.request), organisation: fence, ...body };
      return outward(await approveRequest(database, actor, parts.requests, decision));
    },
  ),
  route(
    { method: 'POST', path: '/approvals/:request/refuse', task: 'approval refuse', body: DECISION },
    async ({ database, actor, fence, params, body }) =>
      outward(
        await refuseRequest(database, actor, {
          request: numberIn(params.request),
          organisation: fence,
          ...body,
        }),
      ),
  ),
];
