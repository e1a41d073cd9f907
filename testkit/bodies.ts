// The bodies of payments, later operations and tokens, with members changed as a test wants.

// biome-ignore lint/suspicious/noExplicitAny: whoever sent a request looks into its answer freely
export type Json = any;

export interface PaymentChange {
  readonly merchant?: number;
  readonly amount?: number | string;
  readonly currency?: string;
  readonly pan?: string;
  readonly expiry?: string;
  readonly cvv?: string;
  /** `BANK_ACCOUNT` with these members changed, instead of a card. */
  readonly bankAccount?: Partial<typeof BANK_ACCOUNT>;
  readonly reference?: string;
  readonly kvps?: Record<string, string>;
  readonly correlationId?: string;
}

export interface TargetChange {
  readonly merchant?: number;
  readonly currency?: string;
  readonly reference?: string;
  readonly correlationId?: string;
}

/** An ordinary, valid card. */
export const CARD = '4111111111111111';
export const BANK_ACCOUNT = { bsb: '062-000', account_number: '123456789', account_name: 'A Customer' };

export function paymentBody(change: PaymentChange = {}): Json {
  return {
    merchant: { id: change.merchant ?? 1 },
    ...(change.kvps && { kvps: change.kvps }),
    transaction: {
      reference: change.reference ?? 'order-1',
      amount_details: { total_amount: String(change.amount ?? 10_000), currency: change.currency ?? 'AUD' },
      payment_method: change.bankAccount
        ? { bankaccount: { ...BANK_ACCOUNT, ...change.bankAccount } }
        : {
            creditcard: {
              pan: change.pan ?? CARD,
              expiry_date: change.expiry ?? '1239',
              cvv: change.cvv ?? '123',
            },
          },
    },
  };
}

/** Of a completion, a refund or, without an amount, a void. */
export function targetedBody(change: TargetChange & { readonly amount?: number | string | undefined }): Json {
  return {
    merchant: { id: change.merchant ?? 1 },
    transaction: {
      reference: change.reference ?? 'order-1',
      ...(change.amount !== undefined && {
        amount_details: { total_amount: String(change.amount), currency: change.currency ?? 'AUD' },
      }),
    },
  };
}

/** What a token stores of a card. */
export function cardAccount(change: Readonly<Record<string, unknown>> = {}): Json {
  return {
    general_creditcard: {
      'CARD.PAN': CARD,
      'CARD.EXPIRY': '1239',
      'CARD.NAME': 'Ada Lovelace',
      ...change,
    },
  };
}

/** The same of a bank account. */
export function bankAccount(change: Readonly<Record<string, unknown>> = {}): Json {
  return {
    general_bankaccount: {
      'BANK.BSB': '062-000',
      'BANK.ACCOUNT_NUMBER': '123456789',
      'BANK.ACCOUNT_NAME': 'A Customer',
      ...change,
    },
  };
}

export function basicAuthorization({ username, password }: { username: string; password: string }): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
}
