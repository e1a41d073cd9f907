// The transaction operations of the API: from a request to a command, and back.
import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../../clock/clock.js';
import { actingMerchant, permittedMerchant } from '../../organisations/users/callers.js';
import type { Lookup } from '../../payments/finding/lookup.js';
import type { SearchFence } from '../../payments/finding/search-fence.js';
import type { Command, DirectCommand, NamedMethod } from '../../payments/pipeline/command.js';
import type { Creation } from '../../payments/pipeline/create.js';
import type { Kvps } from '../../payments/transaction.js';
import { BankAccount, BECS_CURRENCY, becsFaults } from '../../values/bank-account.js';
import { CardNumber, Cvv, isVirtualPan, parseExpiry } from '../../values/card.js';
import { type Credential, isAgreed } from '../../values/credential.js';
import { fault } from '../../values/faults.js';
import { cents, isAmount, isCurrency } from '../../values/money.js';
import { bareKvpKey, KVP_REQUEST_PREFIX, KVPS_AT_MOST } from '../../values/text.js';
import {
  type AuthenticationStatus,
  AuthenticationValue,
  type ThreeDSecure,
} from '../../values/three-d-secure.js';
import { isWrong, readPayload, WALLETS, type WrongPart } from '../../wallets/payloads.js';
import { type CheckedRequest, type Operation, operation, type Reply } from '../operation.js';
import { CREDITCARD, PAYMENT_METHOD, type Problem, type ProblemCode, problem, WALLET } from '../problems.js';
import { problemOf } from '../refusals.js';
import { shownKey } from '../validation.js';
import { created, HELD, LOOKED_UP } from './examples.js';
import { createdTransaction, lookedUpTransaction, transactionPath } from './hal.js';
import {
  AmountBody,
  AuditPath,
  CardPaymentBody,
  CreatedTransaction,
  LookedUpTransaction,
  PaymentBody,
  SearchQuery,
  SearchResults,
  VoidBody,
} from './transaction-schemas.js';

const EXPIRY_DATE = [...CREDITCARD, 'expiry_date'];

/** Rules about the payment method that a schema cannot express. */
function reviewMethod(kind: DirectCommand['operation'], body: unknown, problems: Problem[]): Problem[] {
  const { payment_method: method, amount_details: amount } =
    (body as Partial<PaymentBody> | null | undefined)?.transaction ?? {};
  if (typeof method !== 'object' || method === null || Array.isArray(method)) return problems;
  const { creditcard, bankaccount, wallet } = method;
  // A missing card is reported below, with a better message.
  const others = problems.filter(({ location }) => !isDeepStrictEqual(location, CREDITCARD));
  return [
    ...reviewExpiry(creditcard, creditcard === undefined ? others : problems),
    ...methodProblems(method, kind),
    ...(wallet === undefined ? [] : walletProblems(wallet)),
    ...(bankaccount === undefined ? [] : bankProblems(amount)),
  ];
}

const CREDENTIAL = ['body', 'transaction', 'credential'];
const MUST_NOT_GO_ON = ['N', 'R', 'C'];

/** Rules about who pays, and how it was checked that they may. Nothing about the body is known yet. */
function reviewCardholder(kind: DirectCommand['operation'], body: unknown, problems: Problem[]): Problem[] {
  if (kind === 'standalone_refund') return problems;
  const { credential, payment_method: method } =
    (body as { transaction?: Partial<PaymentBody['transaction']> } | null | undefined)?.transaction ?? {};
  const { cvv, three_d_secure: check } = method?.creditcard ?? {};
  const found = [...problems];
  if (credential?.initiator === 'merchant') {
    // What is wrong with a member itself is among the problems already.
    if (
      credential.reason !== undefined &&
      credential.sequence === 'initial' &&
      !isAgreed(credential as Credential)
    )
      found.push(problem('field_format', [...CREDENTIAL, 'sequence'], TO_FOLLOW));
    if (cvv !== undefined) found.push(problem('field_format', [...CREDITCARD, 'cvv'], NOBODY_THERE));
  }
  if (MUST_NOT_GO_ON.includes(check?.status ?? ''))
    found.push(problem('authentication_failed', [...CREDITCARD, 'three_d_secure', 'status']));
  return found;
}

const TO_FOLLOW = 'A merchant that pays by itself follows an agreement: this must be subsequent.';
const NOBODY_THERE = 'A merchant that pays by itself has no CVV: it may not be kept.';

function methodProblems(
  { creditcard, bankaccount, wallet }: { readonly [Name in keyof NamedMethods]?: unknown },
  kind: DirectCommand['operation'],
): Problem[] {
  const count = [creditcard, bankaccount, wallet].filter((method) => method !== undefined).length;
  if (count === 0) return [problem('field_missing', CREDITCARD)];
  if (count > 1) {
    const message = 'Exactly one of creditcard, bankaccount and wallet is needed.';
    return [problem('field_format', PAYMENT_METHOD, message)];
  }
  if (wallet !== undefined && kind === 'standalone_refund') {
    return [problem('field_format', WALLET, 'A payment by wallet is refunded by its audit.')];
  }
  if (bankaccount === undefined || kind !== 'preauthorisation') return [];
  return [
    problem('field_format', [...PAYMENT_METHOD, 'bankaccount'], 'A bank account cannot be preauthorised.'),
  ];
}

const WRONG_IN_TOKENS = {
  missing: 'field_missing',
  type: 'field_type',
  'too long': 'field_too_long',
  format: 'field_format',
} as const satisfies Record<WrongPart['wrong'], ProblemCode>;

/** What a wallet has made, as far as it can be read without a key. */
function walletProblems(wallet: { type?: unknown; token?: unknown } | null): Problem[] {
  const { token } = wallet ?? {};
  const type = WALLETS.find((name) => name === wallet?.type);
  // The schema reports a token that is missing or of another type.
  const isGiven =
    typeof token === 'string' || (typeof token === 'object' && token !== null && !Array.isArray(token));
  const read = type === undefined || !isGiven ? [] : readPayload(type, token);
  if (!isWrong(read)) return [];
  return read.map(({ path, wrong }) => problem(WRONG_IN_TOKENS[wrong], [...WALLET, 'token', ...path]));
}

/** Checks the amount only if it is one: nothing about the body is known yet. */
function bankProblems(amount: { total_amount?: unknown; currency?: unknown } | null | undefined): Problem[] {
  const { total_amount: total, currency } = amount ?? {};
  const reasons = becsFaults({
    amountCents: typeof total === 'string' && isAmount(total) ? Number(total) : 0,
    currency: typeof currency === 'string' && isCurrency(currency) ? currency : BECS_CURRENCY,
  });
  return reasons.map((reason) => problemOf(reason, true));
}

/** An expiry date is required with a card number, and ignored with a virtual PAN. */
function reviewExpiry(
  creditcard: { pan?: unknown; expiry_date?: unknown } | null | undefined,
  problems: Problem[],
): Problem[] {
  const { pan, expiry_date } = creditcard ?? {};
  if (typeof pan !== 'string') return problems;
  if (isVirtualPan(pan)) return problems.filter(({ location }) => !isDeepStrictEqual(location, EXPIRY_DATE));
  return expiry_date === undefined ? [...problems, problem('field_missing', EXPIRY_DATE)] : problems;
}

type NamedMethods = PaymentBody['transaction']['payment_method'];

function methodOf({ creditcard, bankaccount, wallet }: NamedMethods): NamedMethod {
  if (bankaccount !== undefined) {
    const { bsb, account_number, account_name } = bankaccount;
    return { kind: 'bank_account', bankAccount: new BankAccount(bsb, account_number, account_name) };
  }
  if (wallet !== undefined) {
    const payload = readPayload(wallet.type, wallet.token);
    if (isWrong(payload)) throw new Error('the token of a wallet was not checked');
    return { kind: 'wallet', payload };
  }
  if (creditcard === undefined) throw new Error('the payment method was not checked');
  const { pan, expiry_date, cvv } = creditcard;
  const check = checkOf(creditcard);
  if (isVirtualPan(pan))
    return { kind: 'virtual_pan', virtualPan: pan, ...(check && { threeDSecure: check }) };
  const expiry = parseExpiry(expiry_date ?? '');
  if (expiry === undefined) throw new Error('the expiry date was not checked');
  const card = {
    number: new CardNumber(pan),
    expiry,
    ...(cvv !== undefined && { cvv: new Cvv(cvv) }),
    ...(check && { threeDSecure: check }),
  };
  // The request keeps its body until it is answered. A string cannot be erased, so the reference to it is dropped.
  creditcard.pan = card.number.mask;
  if (card.cvv !== undefined) creditcard.cvv = card.cvv.mask;
  return { kind: 'card', card };
}

type SentCard = NonNullable<PaymentBody['transaction']['payment_method']['creditcard']>;

function checkOf({ three_d_secure: sent }: SentCard): ThreeDSecure | undefined {
  if (sent === undefined) return undefined;
  const { version, eci, authentication_value: value, ds_transaction_id, status, network } = sent;
  // As the card number: the reference to the text is dropped.
  if (value !== undefined) sent.authentication_value = '****';
  return {
    version,
    eci,
    status: status as AuthenticationStatus,
    ...(value !== undefined && {
      authenticationValue: new AuthenticationValue(Buffer.from(value, 'base64')),
    }),
    ...(ds_transaction_id !== undefined && { dsTransactionId: ds_transaction_id }),
    ...(network !== undefined && { network }),
  };
}

function credentialOf({ credential: sent }: PaymentBody['transaction']): Credential | undefined {
  if (sent === undefined) return undefined;
  const { initiator = 'customer', reason, sequence, network_transaction_id: networkTransactionId } = sent;
  const said = { initiator, reason, sequence } as Credential;
  return networkTransactionId === undefined ? said : { ...said, networkTransactionId };
}

/** KVPs are stored and returned, and not used otherwise. The gateway's prefix is stripped from keys. */
function kvpsOf(sent: Readonly<Record<string, string>> | undefined): Kvps {
  // No prototype, because a key may have any name.
  const kvps: Record<string, string> = Object.create(null);
  for (const key in sent) {
    kvps[bareKvpKey(key)] = sent[key] as string;
  }
  return kvps;
}

/** Reports one key in two spellings, of which only one could be kept. */
function reviewKvps(body: unknown, problems: Problem[]): Problem[] {
  const kvps = (body as { kvps?: unknown } | null | undefined)?.kvps;
  if (typeof kvps !== 'object' || kvps === null) return problems;
  const keys = Object.keys(kvps);
  // Too many KVPs are refused for their number alone.
  if (keys.length > KVPS_AT_MOST || !keys.some((key) => key.startsWith(KVP_REQUEST_PREFIX))) return problems;
  const seen = new Set(keys.filter((key) => !key.startsWith(KVP_REQUEST_PREFIX)));
  const again = keys.filter((key) => {
    const bare = bareKvpKey(key);
    return bare !== key && seen.size === seen.add(bare).size;
  });
  return [...problems, ...again.map(inTwoSpellings)];
}

function inTwoSpellings(key: string): Problem {
  return problem('field_format', ['body', 'kvps', shownKey(key)], 'This key was sent in two spellings.');
}

export interface TransactionServices {
  readonly creation: Creation;
  readonly lookup: Lookup;
  readonly searchFence: SearchFence;
  readonly clock: Clock;
}

type AnyBody = PaymentBody | AmountBody | VoidBody;

const CREATED = {
  status: 201,
  description: 'A response came back. It does not mean approval: see `status.transaction_status_code`.',
  schema: CreatedTransaction,
  located: true,
} as const;
const OF_CREATION: readonly ProblemCode[] = [
  'correlation_id_already_used',
  'merchant_not_permitted',
  'merchant_suspended',
  'acquirer_answer_unreadable',
  'acquirer_timeout',
];

/** The part that all commands have. */
function commonOf({
  caller,
  address,
  correlationId,
  inFlight,
  body,
}: CheckedRequest<unknown, unknown, AnyBody>) {
  if (inFlight === undefined)
    throw new Error('a request that creates a transaction is not registered in flight');
  const merchant = actingMerchant(caller, body.merchant.id);
  inFlight.merchantId = merchant.id;
  return {
    caller,
    address,
    correlationId,
    inFlight,
    merchant,
    reference: body.transaction.reference,
    kvps: kvpsOf(body.kvps),
  };
}

function amountOf({ amount_details }: { amount_details: { total_amount: string; currency: string } }) {
  return { amountCents: cents(amount_details.total_amount), currency: amount_details.currency };
}

async function create(command: Command, { creation, clock }: TransactionServices): Promise<Reply> {
  const transaction = await creation.create(command);
  const { audit, merchantId, status: outcome } = transaction;
  return {
    status: 201,
    location: transactionPath(audit),
    body: createdTransaction(transaction, command.merchant, clock.now()),
    audit,
    merchantId,
    outcome,
  };
}

function payment(
  kind: DirectCommand['operation'],
  text: Pick<
    Operation<TransactionServices>,
    'id' | 'route' | 'summary' | 'description' | 'permission' | 'exampleAnswer'
  >,
) {
  return operation({
    ...text,
    tag: 'Transactions',
    method: 'POST',
    body: kind === 'preauthorisation' ? CardPaymentBody : PaymentBody,
    reviewBody: (body, problems) =>
      reviewKvps(body, reviewCardholder(kind, body, reviewMethod(kind, body, problems))),
    success: CREATED,
    problems:
      kind === 'standalone_refund'
        ? [...OF_CREATION, 'token_not_usable', 'no_acquirer']
        : [
            ...OF_CREATION,
            'token_not_usable',
            'limit_reached',
            'retry_forbidden',
            'authentication_failed',
            'wallet_token_refused',
            'no_acquirer',
          ],
    creates: true,
    example: {
      merchant: { id: 1 },
      transaction: {
        reference: 'order-1001',
        amount_details: { total_amount: '1995', currency: 'AUD' },
        payment_method: { creditcard: { pan: '4111111111111111', expiry_date: '1230', cvv: '123' } },
      },
    },
    handle: (request, services: TransactionServices) => {
      const { transaction } = request.body;
      const method = methodOf(transaction.payment_method);
      const payerAddress = transaction.payer?.address;
      const credential = kind === 'standalone_refund' ? undefined : credentialOf(transaction);
      const paid = {
        method,
        ...amountOf(transaction),
        ...(payerAddress !== undefined && { payerAddress }),
        ...(credential && { credential }),
      };
      return create({ operation: kind, ...paid, ...commonOf(request) }, services);
    },
  });
}

function onTarget(
  kind: 'completion' | 'refund',
  text: Pick<
    Operation<TransactionServices>,
    'id' | 'route' | 'summary' | 'description' | 'permission' | 'exampleAnswer'
  >,
  problems: readonly ProblemCode[],
) {
  return operation({
    ...text,
    tag: 'Transactions',
    method: 'POST',
    path: AuditPath,
    body: AmountBody,
    reviewBody: reviewKvps,
    success: CREATED,
    problems: [...OF_CREATION, 'transaction_not_found', ...problems],
    creates: true,
    example: {
      merchant: { id: 1 },
      transaction: {
        reference: `order-1001-${kind}`,
        amount_details: { total_amount: '1995', currency: 'AUD' },
      },
    },
    handle: (request, services: TransactionServices) => {
      const amount = amountOf(request.body.transaction);
      const targetAudit = request.path.audit;
      return create({ operation: kind, targetAudit, ...commonOf(request), ...amount }, services);
    },
  });
}

export const TRANSACTION_OPERATIONS = [
  payment('purchase', {
    id: 'createPurchase',
    route: '/transactions/purchase',
    summary: 'Purchase',
    description: 'Charges a card, also by a wallet, or debits a bank account.',
    permission: 'payments',
    exampleAnswer: created(1, ['refund', 'void']),
  }),
  payment('preauthorisation', {
    id: 'createPreauthorisation',
    route: '/transactions/preauthorisation',
    summary: 'Preauthorisation',
    description:
      'Holds an amount, to be taken by a completion within the preauthorisation age (7 days by default).',
    permission: 'payments',
    exampleAnswer: created(2, ['completion', 'void'], { status: HELD }),
  }),
  onTarget(
    'completion',
    {
      id: 'createCompletion',
      route: '/transactions/{audit}/completion',
      summary: 'Completion of a preauthorisation',
      description: 'Takes the preauthorised amount, or less: the rest is released. Once.',
      permission: 'payments',
      exampleAnswer: created(3, ['refund', 'void'], { target: 2 }),
    },
    ['target_not_completable', 'completion_exceeds_preauthorisation'],
  ),
  onTarget(
    'refund',
    {
      id: 'createRefund',
      route: '/transactions/{audit}/refund',
      summary: 'Refund by audit',
      description: 'Several partial refunds are allowed. Together they never exceed the original amount.',
      permission: 'refunds',
      exampleAnswer: created(4, ['void'], { target: 1 }),
    },
    ['target_not_refundable', 'refund_exceeds_original'],
  ),
  payment('standalone_refund', {
    id: 'createStandaloneRefund',
    route: '/transactions/refund',
    summary: 'Standalone refund',
    description:
      'Not tied to an earlier transaction, so nothing limits its amount. Prefer a refund by audit.',
    permission: 'standalone-refunds',
    exampleAnswer: created(5, ['void']),
  }),
  operation({
    id: 'voidTransaction',
    tag: 'Transactions',
    method: 'POST',
    route: '/transactions/{audit}/void',
    summary: 'Void',
    description:
      'Undoes a transaction before it settles, or releases a preauthorisation while it can be completed.',
    permission: 'payments',
    path: AuditPath,
    body: VoidBody,
    reviewBody: reviewKvps,
    success: CREATED,
    problems: [...OF_CREATION, 'transaction_not_found', 'target_not_voidable'],
    creates: true,
    example: { merchant: { id: 1 }, transaction: { reference: 'order-1001-void' } },
    exampleAnswer: created(6, [], { target: 1 }),
    handle: (request, services: TransactionServices) =>
      create({ operation: 'void', targetAudit: request.path.audit, ...commonOf(request) }, services),
  }),
  operation({
    id: 'lookUpTransaction',
    tag: 'Transactions',
    method: 'GET',
    route: '/transactions/{audit}',
    summary: 'Look up a transaction',
    description: 'What became of it, what it was, and what can be done with it now.',
    permission: 'read',
    path: AuditPath,
    success: { status: 200, description: 'The transaction.', schema: LookedUpTransaction },
    problems: ['transaction_not_found'],
    exampleAnswer: LOOKED_UP,
    async handle({ caller, path: { audit } }, { lookup, clock }: TransactionServices) {
      const transaction = await lookup.byAudit(caller, audit, caller.merchants.keys());
      if (transaction === undefined) throw fault('transaction_not_found', 'target');
      const { merchantId, status: outcome } = transaction;
      const merchant = permittedMerchant(caller, merchantId);
      const body = lookedUpTransaction(transaction, merchant, clock.now());
      return { status: 200, body, audit, merchantId, outcome };
    },
  }),
  operation({
    id: 'searchTransactions',
    tag: 'Transactions',
    method: 'GET',
    route: '/transactions',
    summary: 'Search by correlation ID',
    description:
      'For recovery after a timeout or a 5XX. Answers while the outcome is open and for 24 hours after it was decided; keep the audit for later.',
    permission: 'read',
    query: SearchQuery,
    success: { status: 200, description: 'The transaction, or nothing.', schema: SearchResults },
    problems: ['merchant_not_permitted'],
    exampleAnswer: { results: [LOOKED_UP] },
    async handle({ caller, query }, { lookup, searchFence, clock }: TransactionServices) {
      const merchant = permittedMerchant(caller, query.merchant_id);
      const nowMs = clock.now();
      const correlationId = query.correlation_id_lookup;
      const key = { organisationId: caller.organisationId, merchantId: merchant.id, correlationId };
      const look = () => lookup.byCorrelationId({ nowMs, ...key });
      const prove = () => lookup.provenByCorrelationId({ nowMs, ...key });
      // A client that reads "nothing" pays again: requests received by now must not be processed after that.
      const found = (await look()) ?? (await searchFence.findOrFence(key, { look, prove }));
      return {
        status: 200,
        body: { results: found === undefined ? [] : [lookedUpTransaction(found, merchant, nowMs)] },
        merchantId: merchant.id,
        ...(found !== undefined && { audit: found.audit, outcome: found.status }),
      };
    },
  }),
];
