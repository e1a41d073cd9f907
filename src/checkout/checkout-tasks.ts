// Links to pay by, as operators make them: for invoices that are sent by mail, and for whoever calls.
import { randomUUID } from 'node:crypto';
import { renderUnicodeCompact } from 'uqr';
import { gatewayTime } from '../clock/gateway-clock.js';
import { journal } from '../journal/journal.js';
import { reportMisfit } from '../journal/seals.js';
import type { Database } from '../postgres/database.js';
import { AMOUNT_CENTS, choice, count, duration, FLAG, ID, text } from '../tasks/kinds.js';
import { type Doing, needed, optional, task } from '../tasks/task.js';
import { becsFaults } from '../values/bank-account.js';
import { containsCardNumber } from '../values/card.js';
import { Fault } from '../values/faults.js';
import type { CustomerId, MerchantId, OrganisationId } from '../values/ids.js';
import { CURRENCIES, cents, moneyText } from '../values/money.js';
import { refuse } from '../values/refusal.js';
import { isRestricted, isWebAddress } from '../values/text.js';
import { lines, table } from '../values/text-table.js';
import type { DoingWithKey } from '../vault/keys/key-provider.js';
import { DataKeys } from '../vault/keys/keys.js';
import { accessOf, vaultOf } from '../vault/vault-tasks.js';
import { MERCHANT_OF_CUSTOMER } from '../vault/vault-tasks.sql.js';
import { CHECKOUT_STATUSES, type CheckoutStatus } from './checkout.js';
import { ATTEMPTS, Checkouts, EXPIRES_IN_S, type KnownCheckout } from './checkouts.js';
import { MERCHANTS_OF_CHECKOUTS } from './checkouts.sql.js';

/** What these tasks need beside the database and the key. */
export interface CheckoutMeans {
  /** Where payers find their pages, without a trailing slash; undefined where there are none. */
  readonly checkoutUrl: string | undefined;
}

type DoingCheckouts = DoingWithKey & Doing<CheckoutMeans>;

interface CheckoutView {
  readonly id: string;
  readonly merchant: MerchantId;
  /** `changed`: by somebody in the database. What else it says is not shown. */
  readonly status: CheckoutStatus | 'changed';
  readonly reference: string | null;
  readonly amountCents: number | null;
  readonly currency: string | null;
  readonly created: Date | null;
  readonly expires: Date | null;
  readonly attempts: number;
  /** Of the transaction that has paid it. */
  readonly audit: number | null;
}

const LONGEST_REFERENCE = 128;
const LONGEST_DESCRIPTION = 120;

const CHECKOUT = needed(text(64), '<id>', 'the checkout, co_…');
const WHOSE = needed(ID, '--merchant <id>', 'whose', { names: 'merchants' });

export const CHECKOUTS = {
  name: 'checkout',
  help: 'pages on which payers pay once',
  tasks: [
    task({
      name: 'checkout add',
      help: 'make a link by which somebody pays, for an invoice or a call',
      role: 'operator',
      scope: 'organisation',
      route: 'POST /checkouts',
      input: {
        merchant: needed(ID, '--merchant <id>', 'who is paid', { names: 'merchants' }),
        reference: needed(
          text(LONGEST_REFERENCE),
          '--reference <text>',
          'the number of the invoice, for example',
        ),
        amount: needed(AMOUNT_CENTS, '--amount <cents>', 'how much, in cents'),
        currency: needed(choice(...CURRENCIES), '--currency <code>', 'of the amount, such as AUD'),
        description: optional(text(LONGEST_DESCRIPTION), '--description <text>', 'what the payer reads'),
        operation: optional(
          choice('purchase', 'preauthorisation'),
          '--operation <name>',
          'whether the money is taken or reserved',
          { default: 'purchase' as const },
        ),
        expiresMs: optional(
          duration(EXPIRES_IN_S.most * 1_000),
          '--expires <duration>',
          'for how long it can be paid',
          {
            default: 7 * 86_400_000,
            defaultText: '7d',
          },
        ),
        attempts: optional(count(ATTEMPTS.most), '--attempts <count>', 'how often the payer can try', {
          default: ATTEMPTS.usual,
        }),
        bankAccount: optional(FLAG, '--bank-account', 'let the payer choose a bank account, too'),
        customer: optional(ID, '--customer <id>', 'a customer in the vault, who may keep the card'),
        returnUrl: optional(text(2_048), '--return-url <url>', 'where the payer goes afterwards'),
        qr: optional(FLAG, '--qr', 'show a QR code, too', { only: 'command' }),
      },
      run: addLink,
      says: ({ url, qr, expires, amountCents, currency }) =>
        [
          `Whoever has this link can pay ${moneyText(amountCents, currency)} until ${expires.toISOString()}, once:`,
          ...(qr === undefined ? [url] : [url, qr]),
        ].join('\n\n'),
    }),
    task({
      name: 'checkout list',
      help: 'list checkouts, the newest first',
      role: 'viewer',
      scope: 'organisation',
      route: 'GET /checkouts',
      input: {
        merchant: WHOSE,
        status: optional(choice(...CHECKOUT_STATUSES), '--status <status>', 'only those'),
        after: optional(text(64), '--after <id>', 'only those that are older than this one'),
        limit: optional(count(), '--limit <count>', 'how many at most', { default: 50, onPage: 100 }),
      },
      run: async (doing: DoingCheckouts, { merchant, ...wish }) => {
        const { checkouts } = await opened(doing);
        const { organisation, id: merchantId } = await ownerOf(doing.database, merchant);
        const listed = await checkouts.list({ organisationId: organisation, merchantId }, wish);
        return listed.map((one) => ('isChanged' in one ? changedView(one.id, merchantId) : viewOf(one)));
      },
    }),
    task({
      name: 'checkout show',
      help: 'show a checkout, and what has come of it',
      role: 'viewer',
      scope: 'organisation',
      route: 'GET /checkouts/:merchant/:id',
      input: { id: CHECKOUT, merchant: WHOSE },
      run: async (doing: DoingCheckouts, named) => {
        const { checkout } = await found(doing, named);
        const { terms, attempts } = checkout;
        return {
          ...viewOf(checkout),
          organisation: checkout.organisationId,
          operation: terms.operation,
          paymentMethods: terms.paymentMethods,
          description: terms.description ?? null,
          customer: terms.customerId ?? null,
          url: urlOf(doing.means.checkoutUrl, checkout),
          tried: attempts.map(({ n, outcome, audit }) => ({ n, outcome: outcome ?? 'not known yet', audit })),
        };
      },
      says: ({ tried, ...about }) =>
        [lines(about), ...(tried.length === 0 ? [] : [table(tried)])].join('\n\n'),
    }),
    task({
      name: 'checkout cancel',
      help: 'let nobody pay a checkout any more',
      role: 'operator',
      scope: 'organisation',
      route: 'POST /checkouts/:merchant/:id/cancel',
      input: { id: CHECKOUT, merchant: WHOSE },
      run: async (doing: DoingCheckouts, named) => {
        const { checkouts, checkout } = await found(doing, named);
        const { id, status } = checkout;
        if (!(await checkouts.cancel(checkout))) refuse('checkout_not_open', { checkout: id, status });
        await journalled(doing, checkout, 'checkout.cancelled');
        return { id, status: 'cancelled' };
      },
      says: ({ id }) => `Nobody can pay ${id} any more.`,
    }),
  ],
} as const;

interface LinkWish {
  readonly merchant: number;
  readonly reference: string;
  readonly amount: number;
  readonly currency: string;
  readonly description?: string | undefined;
  readonly operation: 'purchase' | 'preauthorisation';
  readonly expiresMs: number;
  readonly attempts: number;
  readonly bankAccount?: boolean | undefined;
  readonly customer?: number | undefined;
  readonly returnUrl?: string | undefined;
  readonly qr?: boolean | undefined;
}

async function addLink(doing: DoingCheckouts, wish: LinkWish) {
  const { database, actor, means } = doing;
  const { reference, amount, currency, description, bankAccount = false, customer, returnUrl } = wish;
  if (means.checkoutUrl === undefined) refuse('checkout_without_pages');
  checkWish(wish);
  const { organisation, id: merchantId } = await ownerOf(database, wish.merchant);
  if (customer !== undefined) {
    await vaultOf(database, merchantId);
    const { rows } = await database.query<{ merchant: MerchantId }>(MERCHANT_OF_CUSTOMER, [
      organisation,
      customer,
    ]);
    if (rows[0]?.merchant !== merchantId) refuse('customer_not_found', { customer });
  }
  const { checkouts } = await opened(doing);
  const { userId } = await accessOf(database, actor, organisation, merchantId);
  const { checkout } = await checkouts.create({
    organisationId: organisation,
    merchantId,
    correlationId: `operator-${randomUUID()}`,
    nowMs: Math.round(await gatewayTime(database)),
    expiresInS: Math.max(EXPIRES_IN_S.least, Math.floor(wish.expiresMs / 1_000)),
    attemptsAllowed: wish.attempts,
    terms: {
      reference,
      operation: wish.operation,
      paymentMethods: bankAccount ? ['creditcard', 'bankaccount'] : ['creditcard'],
      amountCents: cents(amount),
      currency,
      ...(description !== undefined && { description }),
      ...(customer !== undefined && { customerId: customer as CustomerId }),
      ...(returnUrl !== undefined && { returnUrl }),
    },
    userId,
  });
  await journalled(doing, checkout, 'checkout.added');
  const url = `${means.checkoutUrl}/${checkout.id}`;
  return {
    id: checkout.id,
    url,
    amountCents: amount,
    currency,
    expires: new Date(checkout.expiresMs),
    ...(wish.qr && { qr: renderUnicodeCompact(url) }),
  };
}

/** As the interface takes them. */
function checkWish({
  reference,
  amount,
  currency,
  description,
  operation,
  bankAccount,
  returnUrl,
  expiresMs,
}: LinkWish): void {
  const problems: { field: string; rule: string }[] = [];
  const isText = (each: string) => isRestricted(each) && !containsCardNumber(each);
  if (!isText(reference))
    problems.push({ field: 'reference', rule: 'takes ASCII without quotes, and no card number' });
  if (description !== undefined && !isText(description))
    problems.push({ field: 'description', rule: 'takes ASCII without quotes, and no card number' });
  if (bankAccount && becsFaults({ amountCents: amount, currency }).length > 0)
    problems.push({ field: 'amount', rule: 'is none that a bank account can be debited by' });
  if (bankAccount && operation === 'preauthorisation')
    problems.push({ field: 'bank_account', rule: 'cannot be preauthorised' });
  if (returnUrl !== undefined && !(isWebAddress(returnUrl) && returnUrl.startsWith('https://')))
    problems.push({ field: 'return_url', rule: 'must begin with https://' });
  if (expiresMs < EXPIRES_IN_S.least * 1_000)
    problems.push({ field: 'expires', rule: 'must be 5m at least' });
  if (problems.length > 0) refuse('checkout_not_allowed', { problems });
}

async function opened({ database, means }: DoingCheckouts) {
  const keys = new DataKeys(database, await means.provider());
  const onBroken = (subject: string) => void reportMisfit(database, subject, 'changed');
  return { checkouts: new Checkouts({ database, leases: database, keys, onBroken }) };
}

async function found(
  doing: DoingCheckouts,
  { id, merchant }: { readonly id: string; readonly merchant: number },
) {
  const { checkouts } = await opened(doing);
  const owner = await ownerOf(doing.database, merchant);
  const checkout = await checkouts.ofMerchants(id, owner.organisation, [owner.id]).catch((error: unknown) => {
    if (error instanceof Fault) refuse('checkout_changed', { checkout: id });
    throw error;
  });
  return { checkouts, checkout: checkout ?? refuse('checkout_not_found', { checkout: id }) };
}

async function ownerOf(
  database: Database,
  merchant: number,
): Promise<{ organisation: OrganisationId; id: MerchantId }> {
  type Row = { readonly organisation: OrganisationId; readonly id: MerchantId };
  const { rows } = await database.query<Row>(MERCHANTS_OF_CHECKOUTS, [merchant]);
  return rows[0] ?? refuse('merchant_not_found', { merchant });
}

function journalled(
  { database, actor }: DoingCheckouts,
  { organisationId, merchantId, number, terms }: KnownCheckout,
  action: 'checkout.added' | 'checkout.cancelled',
): Promise<unknown> {
  const { reference, amountCents = 0, currency = '' } = terms;
  // Not by its ID: whoever knows that can pay.
  const detail = `checkout ${number}, ${reference}, ${moneyText(amountCents, currency)}`;
  return journal(database, { organisationId, merchantId, actor, action, detail });
}

function viewOf(checkout: KnownCheckout): CheckoutView {
  const { id, merchantId, status, terms, createdMs, expiresMs, attempts, resultAudit } = checkout;
  return {
    id,
    merchant: merchantId,
    status,
    reference: terms.reference,
    amountCents: terms.amountCents ?? null,
    currency: terms.currency ?? null,
    created: new Date(createdMs),
    expires: new Date(expiresMs),
    attempts: attempts.length,
    audit: resultAudit,
  };
}

function changedView(id: string, merchant: MerchantId): CheckoutView {
  const nothing = { reference: null, amountCents: null, currency: null, created: null, expires: null };
  return { id, merchant, status: 'changed', ...nothing, attempts: 0, audit: null };
}

function urlOf(base: string | undefined, { id }: KnownCheckout): string | null {
  return base === undefined ? null : `${base}/${id}`;
}
