// Cards that payers give on a page of the gateway, for one payment of a merchant that never sees them. Each is known by a virtual PAN, and
// sealed with its CVV until it is used, or for some minutes.
import type { Queryable } from '../postgres/database.js';
import { type CardDetails, Cvv } from '../values/card.js';
import type { MerchantId, OrganisationId } from '../values/ids.js';
import { cardFromSecrets, cardSecrets } from './account.js';
import { type DataKeys, type Place, SealBroken, seal } from './keys/keys.js';
import {
  ADD_ONE_TIME_CARD,
  FORGET_ONE_TIME_CARD,
  FORGET_ONE_TIME_CARDS,
  TAKE_ONE_TIME_CARD,
} from './one-time-cards.sql.js';
import { makeVirtualPan } from './virtual-pan.js';

const VALID_FOR_S = 15 * 60;
/** Between the card and its CVV. */
const SEPARATOR = '\n';

interface Owner {
  readonly organisationId: OrganisationId;
  readonly merchantId: MerchantId;
}

export class OneTimeCards {
  constructor(
    private readonly database: Queryable,
    private readonly keys: DataKeys,
  ) {}

  /** Returns the virtual PAN. */
  async add({ organisationId, merchantId }: Owner, card: CardDetails): Promise<string> {
    const key = await this.keys.newest(organisationId, merchantId);
    const virtualPan = makeVirtualPan();
    const secrets = secretsOf(card);
    const sealed = seal(key, placeOf({ organisationId, merchantId }, virtualPan), secrets);
    const values = [organisationId, merchantId, virtualPan, VALID_FOR_S, key.version, sealed];
    await this.database.query(ADD_ONE_TIME_CARD, values);
    return virtualPan;
  }

  /** For the payment with this correlation ID; undefined if there is no such card, or another payment has taken it. */
  async take(owner: Owner, virtualPan: string, correlationId: string): Promise<CardDetails | undefined> {
    const values = [owner.organisationId, owner.merchantId, virtualPan, correlationId];
    type Taken = { readonly keyVersion: number; readonly sealed: Buffer };
    const [taken] = (await this.database.query<Taken>(TAKE_ONE_TIME_CARD, values)).rows;
    if (taken === undefined) return undefined;
    try {
      return cardOf(await this.keys.open(placeOf(owner, virtualPan), taken.keyVersion, taken.sealed));
    } catch (error) {
      if (error instanceof SealBroken) return undefined;
      throw error;
    }
  }

  /** It was used: nobody may keep a CVV any longer. */
  async forget({ organisationId }: Pick<Owner, 'organisationId'>, virtualPan: string): Promise<void> {
    await this.database.query(FORGET_ONE_TIME_CARD, [organisationId, virtualPan]);
  }

  /** Those whose time is over, also where whoever has used them was killed. */
  async run(): Promise<void> {
    await this.database.query(FORGET_ONE_TIME_CARDS);
  }
}

function placeOf({ organisationId, merchantId }: Owner, virtualPan: string): Place {
  return { table: 'one_time_card', organisationId, merchantId, row: 0, field: 'card', says: virtualPan };
}

function secretsOf({ cvv, ...card }: CardDetails): Buffer {
  const plain = cardSecrets(card);
  const secrets = Buffer.alloc(plain.length + SEPARATOR.length + (cvv === undefined ? 0 : MOST_CVV));
  let end = plain.copy(secrets);
  plain.fill(0);
  end += secrets.write(SEPARATOR, end, 'latin1');
  if (cvv !== undefined) end += cvv.writeTo(secrets, end);
  return secrets.subarray(0, end);
}

const MOST_CVV = 4;

function cardOf(secrets: string): CardDetails {
  const [card = '', cvv = ''] = secrets.split(SEPARATOR);
  return { ...cardFromSecrets(card), ...(cvv !== '' && { cvv: new Cvv(cvv) }) };
}
