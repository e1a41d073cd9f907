// Who can be a second person: an operator who is not the first one under another name. Whoever adds somebody, makes a link for them or
// changes them may have their passkey, so for seven days neither can approve for the other, nor for anybody else whom they added.
import type { CredentialKey } from '../../organisations/users/credentials.js';
import type { Queryable } from '../../postgres/database.js';
import type { OperatorRole } from '../../tasks/task.js';
import type { OrganisationId } from '../../values/ids.js';
import { canSignIn, isSealedOperator, NOT_INDEPENDENT_MS, type OperatorRow } from '../operator.js';
import { isAtLeast } from '../operator-roles.js';
import { LIST_OPERATORS } from '../operators.sql.js';
import { databaseTime } from '../sessions.js';

/** Stands for all accounts of the operating system: whoever has a shell is one of them, and may be any operator. */
const ACCOUNT = 'operator:account';

/** What an approver must be allowed to do. */
export interface Needed {
  readonly role: OperatorRole;
  /** Empty: of the whole installation. */
  readonly organisation: OrganisationId | null;
}

/** All operators, also those who were removed, with the groups in which they may be one person. As the journal names them. */
export class Acquaintance {
  readonly #groups = new Map<string, string>();

  private constructor(
    private readonly rows: readonly OperatorRow[],
    private readonly key: CredentialKey,
    private readonly nowMs: number,
  ) {
    for (const row of rows) {
      const name = `operator:${row.name}`;
      // Nobody knows who changed a row that is not as it was sealed.
      if (!isSealedOperator(key, row, row.seal)) this.#join(name, ACCOUNT);
      // guard(second person: nobody whom the first one added, linked or changed within seven days): this.#join(name, by) ⇒ void by
      for (const { by } of this.#lately(row)) this.#join(name, by);
    }
  }

  static async of(connection: Queryable, key: CredentialKey): Promise<Acquaintance> {
    const { rows } = await connection.query<OperatorRow>(LIST_OPERATORS);
    return new Acquaintance(rows, key, await databaseTime(connection));
  }

  /** Whether the two are told apart from each other, and from whoever has a shell. */
  areIndependent(one: string, other: string): boolean {
    const groups = [one, other, ACCOUNT].map((name) => this.#groupOf(name));
    return new Set(groups).size === groups.length;
  }

  /**
   * Whether anybody else could ever approve it. Somebody who was added just now does not count yet. Somebody whom others removed or gave a
   * lesser role still does: otherwise it would be a way to be alone.
   */
  hasAnother(than: string, { role, organisation }: Needed): boolean {
    const suits = (is: OperatorRole, of: OrganisationId | null) =>
      isAtLeast(is, role) && (of === null || of === organisation);
    return this.rows.some((row) => {
      if (`operator:${row.name}` === than || row.isDemo) return false;
      if (!isSealedOperator(this.key, row, row.seal)) return true;
      const lately = this.#lately(row);
      if (lately.some(({ action }) => action === 'operator.added')) return false;
      const isThere = !row.removed && canSignIn(row) && suits(row.role, row.organisationId);
      // guard(second person: whoever removes the others is not alone): || lately.some(({ was }) => was !== null && suits(...was)) ⇒
      return isThere || lately.some(({ was }) => was !== null && suits(...was));
    });
  }

  #lately({ history }: OperatorRow) {
    return history.filter(({ atMs }) => atMs > this.nowMs - NOT_INDEPENDENT_MS);
  }

  #groupOf(name: string): string {
    const one = name.startsWith(`${ACCOUNT}:`) ? ACCOUNT : name;
    const next = this.#groups.get(one);
    return next === undefined ? one : this.#groupOf(next);
  }

  #join(one: string, other: string): void {
    const [group, another] = [this.#groupOf(one), this.#groupOf(other)];
    if (group !== another) this.#groups.set(group, another);
  }
}
