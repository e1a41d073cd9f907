// The rows of operators: each change of one is sealed anew, and journalled with it.
import { type JournalAction, journal } from '../journal/journal.js';
import type { CredentialKey } from '../organisations/users/credentials.js';
import type { Queryable } from '../postgres/database.js';
import { refuse } from '../values/refusal.js';
import type { SealedOperator } from './operator.js';
import { isSealedOperator, sealOfOperator } from './operator-seals.js';
import { LOCK_OPERATOR, STORE_OPERATOR } from './operators.sql.js';

export type OperatorRow = SealedOperator & { readonly seal: Buffer | null };

export interface OperatorChange {
  readonly actor: string;
  readonly action: JournalAction;
  readonly detail?: string | undefined;
  /** One that was added just now has no seal yet. */
  readonly isNew?: boolean;
  /** Also one that is not as it was sealed. */
  readonly evenBroken?: boolean;
}

/** `work` says what becomes of the operator, and may refuse. Two changes at the same time come one after the other. */
export function changeOperator(
  database: Queryable,
  key: CredentialKey,
  name: string,
  { actor, action, detail, isNew = false, evenBroken = false }: OperatorChange,
  work: (
    operator: SealedOperator,
    connection: Queryable,
  ) => Partial<SealedOperator> | Promise<Partial<SealedOperator>>,
): Promise<SealedOperator> {
  return database.transaction(async (connection) => {
    const { rows } = await connection.query<OperatorRow>(LOCK_OPERATOR, [name]);
    const before = rows[0] ?? refuse('operator_not_found', { name });
    if (!isNew && !evenBroken && !isSealedOperator(key, before, before.seal))
      refuse('operator_seal_broken', { name });
    const operator = { ...before, ...(await work(before, connection)), version: before.version + 1 };
    await connection.query(STORE_OPERATOR, [
      name,
      operator.linkTag,
      operator.linkUntilMs,
      operator.version,
      sealOfOperator(key, operator),
      operator.removed,
      operator.role,
      operator.organisationId,
      operator.password,
      operator.totp,
      JSON.stringify(operator.passkeys),
      operator.providerSubject,
    ]);
    await journal(connection, {
      actor,
      action,
      ...(operator.organisationId !== null && { organisationId: operator.organisationId }),
      detail: detail === undefined ? name : `${name}: ${detail}`,
    });
    return operator;
  });
}
