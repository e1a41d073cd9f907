// Over which acquirer a merchant pays, and what that acquirer knows it by: what may be set, and what fits together.
import { HOLD_ACQUIRER } from '../../acquirers/acquirer-tasks.sql.js';
import { serves } from '../../acquirers/contract.js';
import { builtInCardLinks } from '../../acquirers/registry.js';
import { holdClock } from '../../clock/gateway-clock.js';
import { journal } from '../../journal/journal.js';
import { isUniqueViolation, type Queryable } from '../../postgres/database.js';
import type { MerchantId, OrganisationId } from '../../values/ids.js';
import type { Mode } from '../../values/mode.js';
import { type FieldProblem, refuse } from '../../values/refusal.js';
import { ORGANISATION_OF_OPERATOR } from './routes.sql.js';

export interface AcceptorWish {
  /** `null`: none. */
  readonly acquirer?: string | null | undefined;
  readonly acceptorId?: string | undefined;
  readonly terminals?: readonly string[] | undefined;
  readonly categoryCode?: string | undefined;
}

/** What test merchants have unless they are told otherwise. */
export const SIMULATOR = 'simulator';
const MOST_TERMINALS = 1_000;
const FIELDS = ['acquirer', 'acceptorId', 'terminals', 'categoryCode'] as const;

/**
 * Only operators of the whole installation say what an acquirer knows a merchant by: whoever did so for one organisation could have its
 * refunds debited to another's merchant.
 */
export async function permitAcceptor(
  database: Queryable,
  operator: string,
  task: string,
  wish: AcceptorWish,
): Promise<void> {
  const given = FIELDS.filter((field) => wish[field] !== undefined);
  if (given.length === 0) return;
  const values = [operator.replace(/^operator:/, '')];
  const { rows } = await database.query<{ organisationId: OrganisationId | null }>(
    ORGANISATION_OF_OPERATOR,
    values,
  );
  const organisationId = rows[0]?.organisationId ?? null;
  // guard(acquirers: an operator of one organisation does not say what an acquirer knows a merchant by): === null ⇒ !== 0
  if (organisationId === null) return;
  await journal(database, { actor: operator, action: 'operator.refused', organisationId, detail: task });
  const rule = 'is set by operators of the whole installation only';
  refuse('acceptor_not_permitted', { problems: given.map((field) => ({ field, rule })) });
}

/** Two merchants that are given the same at the same moment: the database decides. Whose it is, is not said. */
export function isTerminalTaken(error: unknown): boolean {
  return isUniqueViolation(error, 'terminal_of_one_merchant');
}

/** Every problem at once. */
export function checkAcceptor({ acceptorId, terminals, categoryCode }: AcceptorWish): void {
  const problems: FieldProblem[] = [];
  if (acceptorId !== undefined && !/^[!-~](?:[ -~]{0,13}[!-~])?$/.test(acceptorId))
    problems.push({ field: 'acceptorId', rule: 'takes 1 to 15 characters of plain ASCII' });
  if (terminals !== undefined && !areTerminals(terminals))
    problems.push({
      field: 'terminals',
      rule: 'takes IDs of 1 to 8 characters of plain ASCII without spaces, each once',
    });
  if (categoryCode !== undefined && !/^[0-9]{4}$/.test(categoryCode))
    problems.push({ field: 'categoryCode', rule: 'takes four digits' });
  if (problems.length > 0) refuse('acceptor_not_allowed', { problems });
}

function areTerminals(terminals: readonly string[]): boolean {
  const some = terminals.length >= 1 && terminals.length <= MOST_TERMINALS;
  return (
    some && new Set(terminals).size === terminals.length && terminals.every((id) => /^[!-~]{1,8}$/.test(id))
  );
}

interface Paying {
  readonly id: MerchantId;
  readonly mode: Mode;
  readonly acquirer: string | null;
  readonly acceptorId?: string;
  readonly terminals?: readonly string[];
}

/** That the merchant may pay over the acquirer that it has, and can. The acquirer is kept until the end of the transaction. */
export async function checkAcquirer(connection: Queryable, merchant: Paying): Promise<void> {
  const { id, mode, acquirer, acceptorId, terminals } = merchant;
  if (acquirer === null) return;
  const builtIn = builtInCardLinks().find(({ name }) => name === acquirer);
  if (builtIn !== undefined) {
    if (!serves(builtIn, mode)) refuse('acquirer_of_other_mode', { acquirer, mode: builtIn.mode });
    return;
  }
  const { rows } = await connection.query<{ mode: Mode }>(HOLD_ACQUIRER, [acquirer]);
  const link = rows[0] ?? refuse('acquirer_not_found', { acquirer });
  if (link.mode !== mode) refuse('acquirer_of_other_mode', { acquirer, mode: link.mode });
  if (acceptorId === undefined || terminals === undefined)
    refuse('acquirer_needs_terminals', { merchant: id });
  if ((await holdClock(connection)) > 0) refuse('acquirer_needs_real_time');
}
