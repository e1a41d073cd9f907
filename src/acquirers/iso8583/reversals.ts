// Reversals that were begun, kept in the database: any process repeats one as it was first sent, until it is acknowledged.
import type { Database } from '../../postgres/database.js';
import type { OrganisationId } from '../../values/ids.js';
import { ACKNOWLEDGE_REVERSAL, BEGIN_REVERSAL, FIND_REVERSAL, FORGET_REVERSALS } from './reversals.sql.js';

/** What names an order. */
export interface Reversed {
  readonly organisationId: OrganisationId;
  readonly reference: string;
}

export interface Begun {
  /** Of the reversal itself. */
  readonly stan: number;
  /** Of the answer for which the order is reversed, where it had one: of a partial approval. */
  readonly responseCode: string | null;
  readonly authorisationCode: string | null;
}

export interface Reversals {
  find(order: Reversed): Promise<Begun | undefined>;
  /** Where another has begun one at the same time, that one counts. */
  begin(order: Reversed, begun: Begun): Promise<Begun>;
  acknowledged(order: Reversed): Promise<void>;
}

export class StoredReversals implements Reversals {
  constructor(
    private readonly database: Database,
    private readonly acquirer: string,
  ) {}

  async find({ organisationId, reference }: Reversed): Promise<Begun | undefined> {
    const values = [organisationId, this.acquirer, reference];
    return (await this.database.query<Begun>(FIND_REVERSAL, values)).rows[0];
  }

  async begin(order: Reversed, begun: Begun): Promise<Begun> {
    const { stan, responseCode, authorisationCode } = begun;
    const values = [
      order.organisationId,
      this.acquirer,
      order.reference,
      stan,
      responseCode,
      authorisationCode,
    ];
    const { rows } = await this.database.query<Begun>(BEGIN_REVERSAL, values);
    const stored = rows[0] ?? (await this.find(order));
    if (stored === undefined) throw new Error('the reversal could not be stored');
    return stored;
  }

  async acknowledged({ organisationId, reference }: Reversed): Promise<void> {
    await this.database.query(ACKNOWLEDGE_REVERSAL, [organisationId, this.acquirer, reference]);
  }
}

/** Those that were acknowledged long ago. */
export async function forgetReversals(database: Database): Promise<void> {
  await database.query(FORGET_REVERSALS);
}
