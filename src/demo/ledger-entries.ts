// The records of the simulated acquirer and the simulated bank for the demo's history.
import type { LedgerEntry } from '../acquirers/simulator/ledger.js';
import { settlementCutOff } from '../values/time.js';
import type { Draft } from './draft.js';

export function ledgerEntries(draft: Draft, referenceOf: (draft: Draft) => string): LedgerEntry[] {
  return draft.method.kind === 'card' ? ofCard(draft, referenceOf) : ofDebit(draft, referenceOf(draft));
}

function ofCard(draft: Draft, referenceOf: (draft: Draft) => string): LedgerEntry[] {
  const { type, createdMs, amountCents, target, responseCode, authorisationCode, gatewayStatusCode, method } =
    draft;
  const reference = referenceOf(draft);
  // A transaction that the acquirer could not confirm was reversed there.
  if (gatewayStatusCode === 2) return [{ atMs: createdMs + 11_000, reference, operation: 'reversal' }];
  if (responseCode === undefined) return [];
  return [
    {
      atMs: createdMs + 80,
      reference,
      operation: type,
      ...(target !== undefined && { targetReference: referenceOf(target) }),
      amountCents,
      currency: 'AUD',
      ...(target === undefined && method.kind === 'card' && { cardMask: method.card.number.mask }),
      responseCode,
      ...(authorisationCode !== undefined && { authorisationCode }),
    },
  ];
}

function ofDebit({ item, amountCents, told }: Draft, reference: string): LedgerEntry[] {
  if (item === undefined || item.state === 'waiting') return [];
  const taken: LedgerEntry = {
    atMs: settlementCutOff(item.day),
    reference,
    operation: 'purchase',
    amountCents,
    currency: 'AUD',
    responseCode: '00',
  };
  if (item.state !== 'returned') return [taken];
  return [taken, { atMs: told.at(-1)?.atMs ?? taken.atMs, reference, operation: 'reversal' }];
}
