// Routes for what concerns the whole installation: its keys, and the review of access.
import { MAX_INTEGER } from '../../api/limits.js';
import { Type } from '../../api/typebox.js';
import { type KeyRotation, rewrapKeys } from '../../installation/keys.js';
import { accessAsCsv, reviewAccess } from '../../operators/access-review.js';
import { checkMerchant } from '../../organisations/merchants.js';
import { type Outward, outward } from '../../values/snake-case.js';
import { permissionOf } from '../all-tasks.js';
import { ConsoleProblem } from '../problems.js';
import { type Call, Download, type Route, route } from '../route.js';

const OF_MERCHANT = Type.Object({
  merchant: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_INTEGER })),
});

/** Whoever is of one organisation names a merchant of it. */
function merchantOf({ fence }: Pick<Call, 'fence'>, merchant: number | undefined): number | undefined {
  if (fence !== undefined && merchant === undefined) throw new ConsoleProblem('organisation_not_permitted');
  return merchant;
}

/** Whoever is of one organisation is not told whose keys somebody else rotates. */
function shownRotation(
  { fence, actor }: Pick<Call, 'fence' | 'actor'>,
  state: KeyRotation,
): Outward<KeyRotation> {
  const isShown = fence === undefined || state.begunBy === actor;
  return outward(isShown ? state : { running: state.running });
}

export const INSTALLATION_ROUTES: readonly Route[] = [
  route(
    {
      method: 'POST',
      path: '/keys/rotate',
      permission: permissionOf('keys rotate'),
      recent: true,
      body: OF_MERCHANT,
    },
    async (call) => {
      const { database, actor, parts, body } = call;
      const merchant = merchantOf(call, body.merchant);
      await checkMerchant(database, merchant);
      return shownRotation(call, parts.rotations.begin(database, actor, parts.provider, merchant));
    },
  ),
  route({ method: 'GET', path: '/keys/rotation', role: 'viewer', scope: 'organisation' }, (call) =>
    shownRotation(call, call.parts.rotations.state),
  ),
  route(
    { method: 'POST', path: '/keys/rewrap', permission: permissionOf('keys move'), recent: true },
    async ({ database, actor, parts }) => ({ data_keys: await rewrapKeys(database, actor, parts.provider) }),
  ),
  route(
    {
      method: 'GET',
      path: '/operators/review.csv',
      permission: permissionOf('operator review'),
      recent: true,
    },
    async ({ database, actor, parts }) => {
      const reviewed = await reviewAccess(database, actor, parts.key);
      return new Download('access-review.csv', 'text/csv; charset=utf-8', [accessAsCsv(reviewed)]);
    },
  ),
];
