// Orders: what an acquirer is asked for a transaction, made from the intent or from what is stored of it.
import {
  CardDestroyed,
  type Completion,
  type MoneyOperation,
  type Payment,
  type Refund,
  type StandaloneRefund,
  type StoredOrder,
  type StoredTarget,
  type Void,
} from '../../acquirers/contract.js';
import type { Database } from '../../postgres/database.js';
import type { CardDetails } from '../../values/card.js';
import type { Audit, MerchantId, OrganisationId } from '../../values/ids.js';
import { cardFromSecrets } from '../../vault/account.js';
import type { DataKeys } from '../../vault/keys/keys.js';
import type { AcquirerReference } from '../acquirer-reference.js';
import { type PaymentSeal, paymentDetailsPlace } from '../cards/payment-details.js';
import type { Intent } from '../transaction.js';
import { SEALED_CARD, STORED_TARGET } from './orders.sql.js';

type Direct = Payment | StandaloneRefund;
type OnTarget = Completion | Refund | Void;

/** What an order takes from a transaction. */
export type Ordered = Pick<
  Intent,
  'organisationId' | 'audit' | 'merchantId' | 'amountCents' | 'currency' | 'createdMs'
>;

interface SealedCard extends PaymentSeal {
  readonly merchantId: MerchantId;
  readonly keyVersion: number;
  readonly sealed: Buffer;
}

type TargetRow = { [Member in keyof StoredTarget]: StoredTarget[Member] | null };

export interface OrdersParts {
  readonly database: Database;
  readonly keys: DataKeys;
  readonly referenceOf: AcquirerReference;
}

export class Orders {
  constructor(private readonly parts: OrdersParts) {}

  direct(operation: Direct['operation'], ordered: Ordered, method: Direct['method']): Direct {
    const { organisationId, merchantId, amountCents, currency } = ordered;
    return {
      operation,
      reference: this.parts.referenceOf(organisationId, ordered.audit),
      organisationId,
      merchantId,
      amountCents,
      currency,
      atMs: ordered.createdMs,
      method,
    };
  }

  onTarget(operation: OnTarget['operation'], ordered: Ordered, targetAudit: Audit): OnTarget {
    const { organisationId, merchantId, amountCents, currency } = ordered;
    return {
      operation,
      reference: this.parts.referenceOf(organisationId, ordered.audit),
      organisationId,
      merchantId,
      amountCents,
      currency,
      atMs: ordered.createdMs,
      target: {
        reference: this.parts.referenceOf(organisationId, targetAudit),
        read: () => this.#target(organisationId, targetAudit),
      },
      openCard: () => this.#openCard(organisationId, targetAudit),
    };
  }

  /** Of a transaction that was claimed before, perhaps by a process that is gone. */
  stored(operation: MoneyOperation, ordered: Ordered & Pick<Intent, 'targetAudit'>): StoredOrder {
    const {
      organisationId,
      audit,
      merchantId,
      targetAudit,
      amountCents,
      currency,
      createdMs: atMs,
    } = ordered;
    switch (operation) {
      case 'completion':
      case 'refund':
      case 'void':
        if (targetAudit === undefined) throw new Error(`a ${operation} without a target`);
        return this.onTarget(operation, ordered, targetAudit);
      default:
        return {
          operation,
          reference: this.parts.referenceOf(organisationId, audit),
          organisationId,
          merchantId,
          amountCents,
          currency,
          atMs,
          openCard: () => this.#openCard(organisationId, audit),
        };
    }
  }

  async #target(organisationId: OrganisationId, audit: Audit): Promise<StoredTarget> {
    const { rows } = await this.parts.database.query<TargetRow>(STORED_TARGET, [organisationId, audit]);
    const [row] = rows;
    if (row === undefined) throw new Error('there is no such target');
    // An empty column is an absent member.
    return Object.fromEntries(
      Object.entries(row).filter(([, value]) => value !== null),
    ) as unknown as StoredTarget;
  }

  /** Whether an order on this transaction could open its card. */
  async hasCard(organisationId: OrganisationId, audit: Audit): Promise<boolean> {
    return (await this.parts.database.query(SEALED_CARD, [organisationId, audit])).rows.length > 0;
  }

  /** Of this transaction or, going back from target to target, of the payment that everything began with. */
  async #openCard(organisationId: OrganisationId, audit: Audit): Promise<CardDetails> {
    const { database, keys } = this.parts;
    const { rows } = await database.query<SealedCard>(SEALED_CARD, [organisationId, audit]);
    const [row] = rows;
    if (row === undefined) throw new CardDestroyed();
    const { merchantId, keyVersion, sealed } = row;
    const place = paymentDetailsPlace({ organisationId, merchantId }, row);
    return cardFromSecrets(await keys.open(place, keyVersion, sealed));
  }
}
