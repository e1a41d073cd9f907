// A direct debit of the past, as the demo makes it up: what became of it, its file and its item.
import type { Audit, MerchantId, OrganisationId } from '../values/ids.js';
import type { DirectEntrySettings } from './files/aba-line.js';

/** What became of an item, and in the file of which day. */
export interface TradedDebit {
  readonly organisationId: OrganisationId;
  readonly merchantId: MerchantId;
  readonly audit: Audit;
  readonly amountCents: number;
  readonly day: string;
  /** The close of that day. */
  readonly closesMs: number;
  readonly state: 'waiting' | 'filed' | 'cleared' | 'returned';
  readonly returnCode: number | undefined;
  readonly nextMs: number | undefined;
}

export interface TradedFile {
  readonly organisationId: OrganisationId;
  readonly merchantId: MerchantId;
  readonly number: number;
  readonly madeMs: number;
  readonly processingDay: string;
  readonly settings: DirectEntrySettings;
  readonly items: number;
  readonly debitCents: number;
}

export interface TradedItem {
  readonly organisationId: OrganisationId;
  readonly merchantId: MerchantId;
  readonly audit: Audit;
  readonly fileNumber: number | undefined;
  readonly line: number | undefined;
  readonly state: TradedDebit['state'];
  readonly returnCode: number | undefined;
  readonly simulatedReturn: number | undefined;
  readonly nextMs: number | undefined;
}
