// The filter of transactions as it stands in an address of the console: the same for the list, the file and every number's link.

import { filterOf, HistoryQuery } from '../../api/operations/history.js';
import { RestrictedText } from '../../api/schemas.js';
import { type Static, Type } from '../../api/typebox.js';
import type { HistoryFilter } from '../../payments/finding/history.js';
import type { SearchScope, TransactionFilter } from '../../payments/finding/transaction-search.js';
import type { OrganisationId } from '../../values/ids.js';
import { AMOUNT_TEXT_PATTERN } from '../../values/money.js';
import { refuse } from '../../values/refusal.js';
import { Scope } from './scope.js';

const {
  merchant_id: _merchant,
  amount: _amount,
  limit: _limit,
  after: _after,
  ...filters
} = HistoryQuery.properties;

export const TransactionFilterQuery = {
  ...Scope,
  ...filters,
  amount: Type.Optional(
    Type.String({ pattern: AMOUNT_TEXT_PATTERN, description: 'As people write it, in whichever currency.' }),
  ),
  currency: Type.Optional(Type.String({ pattern: '^[A-Z]{3}$' })),
  acquirer: Type.Optional(RestrictedText(1, 64, 'The name of its link.')),
  response_code: Type.Optional(RestrictedText(0, 32, 'As the acquirer sent it; empty: none.')),
};

const Filter = Type.Object(TransactionFilterQuery);

export function scopeOf(query: Static<typeof Filter>, fence: OrganisationId | undefined): SearchScope {
  // guard(console: lists and files of an operator keep within the organisation): fence ?? ⇒
  return { organisation: fence ?? query.organisation, merchant: query.merchant, mode: query.mode };
}

export function historyFilterOf(query: Static<typeof Filter>): HistoryFilter {
  const { amount, ...others } = query;
  const filter = filterOf(others);
  const { fromMs, beforeMs } = filter;
  if (fromMs !== undefined && beforeMs !== undefined && fromMs >= beforeMs)
    refuse('period_ends_before_it_begins');
  const { currency, acquirer, response_code: responseCode } = query;
  return { ...filter, amount, currency, acquirer, responseCode };
}

/** As it stands in the address, for links to a narrower one. */
export function shownFilterOf(query: Static<typeof Filter>): TransactionFilter {
  const { from, until, status, reference, amount, currency, acquirer } = query;
  return {
    from,
    until,
    status,
    reference,
    amount,
    currency,
    acquirer,
    transactionType: query.transaction_type,
    paymentMethod: query.payment_method,
    cardType: query.card_type,
    lastFour: query.last_four,
    settlementDate: query.settlement_date,
    responseCode: query.response_code,
    customerId: query.customer_id,
    tokenId: query.token_id,
    targetAudit: query.target_audit,
    checkoutId: query.checkout_id,
  };
}
