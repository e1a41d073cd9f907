// Checkouts of a merchant: what payers are asked to pay and what has come of it, and new links for invoices and calls.
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { Answer } from '../../../src/console/interface.js';
import { useAct } from '../acting.js';
import { read } from '../api/calls.js';
import { Problem } from '../api/problem.js';
import { DialogButton } from '../forms/dialogs.js';
import { FormDialog } from '../forms/form-dialog.js';
import { PagesByStatus, useStatusChoice } from '../lists/by-status.js';
import type { Column } from '../lists/column.js';
import { Mark, When } from '../marks.js';
import { Page } from '../shell/page.js';
import { Empty } from '../states.js';
import { CURRENCIES, centsIn, moment, money } from '../words.js';
import { useMerchantChoice } from './merchant-choice.js';
import { PaymentLink } from './payment-link.js';

type Checkout = Answer<'GET /checkouts'>[number];

/** Those that stand in the address. */
const STATUSES = ['open', 'processing', 'complete', 'expired', 'cancelled'];

const COLUMNS: readonly Column<Checkout>[] = [
  {
    key: 'reference',
    title: 'Reference',
    show: ({ id, merchant, reference }) => (
      <div className="cut" title={reference ?? id}>
        <Link href={`/checkouts/${merchant}/${id}`} data-row-link>
          {reference ?? id}
        </Link>
      </div>
    ),
  },
  { key: 'status', title: 'State', show: ({ status }) => <Mark word={status} /> },
  { key: 'amount', title: 'Amount', number: true, show: amountOf },
  { key: 'created', title: 'Created', show: ({ created }) => <When at={created} />, wide: true },
  { key: 'expires', title: 'Expires', show: ({ expires }) => <When at={expires} />, wide: true },
  { key: 'attempts', title: 'Attempts', number: true, show: ({ attempts }) => attempts, wide: true },
  { key: 'audit', title: 'Paid by', number: true, show: ({ audit }) => audit ?? '–', wide: true },
];

/** Where a card is only stored there is no amount. */
export function amountOf({ amount_cents, currency }: Pick<Checkout, 'amount_cents' | 'currency'>): string {
  return amount_cents === null ? '–' : money(amount_cents, currency ?? '');
}

export default function Checkouts(): ReactNode {
  const { merchant, chooser, isNone } = useMerchantChoice();
  const { status, chooser: states } = useStatusChoice(STATUSES);
  return (
    <Page
      title="Checkouts"
      beside={chooser}
      actions={merchant !== undefined && <NewLink merchant={merchant} />}
    >
      {states}
      {isNone && <Empty title="No merchant to choose">Add a merchant first.</Empty>}
      {merchant !== undefined && (
        <PagesByStatus
          caption="Checkouts"
          columns={COLUMNS}
          queryKey={['GET /checkouts', merchant, status]}
          load={(page, signal) => read('GET /checkouts', { query: { merchant, status, ...page } }, signal)}
          empty={
            <Empty title={status === undefined ? 'No checkout' : `No checkout is ${status}`}>
              Shops make them through the API. With a link somebody pays an invoice without a shop.
            </Empty>
          }
        />
      )}
    </Page>
  );
}

interface NewCheckout {
  readonly id: string;
  readonly url: string;
  readonly expires: string;
  readonly amount_cents: number;
  readonly currency: string;
}

const DAY_MS = 86_400_000;

function NewLink({ merchant }: { readonly merchant: number }): ReactNode {
  const act = useAct();
  return (
    <DialogButton
      task="checkout add"
      label="New link"
      primary
      dialog={(close) => (
        <FormDialog<NewCheckout>
          title={`New link of merchant ${merchant}`}
          submit="Make the link"
          fields={[
            {
              name: 'reference',
              label: 'Reference',
              required: true,
              placeholder: 'INV-2207',
              description: 'The number of the invoice, for example. The payer sees it.',
            },
            { name: 'amount', label: 'Amount', required: true, placeholder: '49.90' },
            {
              name: 'currency',
              label: 'Currency',
              kind: 'choice',
              required: true,
              choices: CURRENCIES,
              initial: 'AUD',
            },
            { name: 'description', label: 'Description', description: 'What the payer reads' },
            {
              name: 'expires_ms',
              label: 'Can be paid for',
              kind: 'choice',
              required: true,
              initial: 7 * DAY_MS,
              choices: [1, 7, 14, 30].map((days) => ({
                value: String(days * DAY_MS),
                label: days === 1 ? '1 day' : `${days} days`,
              })),
            },
            {
              name: 'operation',
              label: 'The money is',
              kind: 'choice',
              required: true,
              choices: [
                { value: 'purchase', label: 'taken' },
                { value: 'preauthorisation', label: 'reserved' },
              ],
            },
            { name: 'bank_account', label: 'Also from a bank account', kind: 'flag' },
            {
              name: 'customer',
              label: 'Customer',
              kind: 'number',
              description: 'The number of a customer in the vault, who may keep the card',
            },
          ]}
          send={({ amount, currency, expires_ms, ...wish }) =>
            act('/checkouts', {
              ...wish,
              merchant,
              currency,
              amount: amountIn(String(amount), String(currency)),
              expires_ms: Number(expires_ms),
            })
          }
          result={({ id, url, expires, amount_cents, currency }) => (
            <>
              <p>
                Whoever has this link can pay {money(amount_cents, currency)} until {moment(expires)}, once.
                Send it to the payer alone.
              </p>
              <PaymentLink url={url} />
              <Link href={`/checkouts/${merchant}/${id}`}>What comes of it</Link>
            </>
          )}
          close={close}
        />
      )}
    />
  );
}

function amountIn(text: string, currency: string): number {
  const cents = centsIn(text, currency);
  if (cents === undefined || cents === 0)
    throw new Problem(
      422,
      'field_format',
      `An amount in ${currency}, such as ${money(4_990, currency)}.`,
      'amount',
    );
  return cents;
}
