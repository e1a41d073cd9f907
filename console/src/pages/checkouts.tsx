// Checkouts of a merchant: what payers are asked to pay and what has come of it, and new links for invoices and calls.
import { NativeSelect } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { type ReactNode, useCallback, useMemo } from 'react';
import { Link, useSearchParams } from 'wouter';
import type { Answer } from '../../../src/console/interface.js';
import { useAct } from '../acting.js';
import { read } from '../api/calls.js';
import { Problem } from '../api/problem.js';
import { DialogButton } from '../forms/dialogs.js';
import { FormDialog } from '../forms/form-dialog.js';
import type { Column } from '../lists/column.js';
import { DataTable } from '../lists/data-table.js';
import { Mark, When } from '../marks.js';
import { Page } from '../shell/page.js';
import { Empty, Failure, Loading } from '../states.js';
import { CURRENCIES, centsIn, moment, money } from '../words.js';
import { useMerchantChoice } from './merchant-choice.js';
import { PaymentLink } from './payment-link.js';

type Checkout = Answer<'GET /checkouts'>[number];

const PAGE = 100;
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
  const [search, setSearch] = useSearchParams();
  const status = STATUSES.find((one) => one === search.get('status'));
  const choose = (chosen: string) =>
    setSearch((before) => {
      const after = new URLSearchParams(before);
      if (chosen === '') after.delete('status');
      else after.set('status', chosen);
      return after;
    });
  return (
    <Page
      title="Checkouts"
      beside={chooser}
      actions={merchant !== undefined && <NewLink merchant={merchant} />}
    >
      <div className="filters">
        <NativeSelect
          label="State"
          value={status ?? ''}
          data={[{ value: '', label: 'any' }, ...STATUSES]}
          onChange={(event) => choose(event.currentTarget.value)}
        />
      </div>
      {isNone && <Empty title="No merchant to choose">Add a merchant first.</Empty>}
      {merchant !== undefined && <Listed merchant={merchant} status={status} />}
    </Page>
  );
}

function Listed({
  merchant,
  status,
}: {
  readonly merchant: number;
  readonly status: string | undefined;
}): ReactNode {
  const query = useInfiniteQuery({
    queryKey: ['GET /checkouts', merchant, status],
    queryFn: ({ pageParam, signal }) =>
      read('GET /checkouts', { query: { merchant, status, limit: PAGE, after: pageParam } }, signal),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page: readonly Checkout[]) => (page.length < PAGE ? undefined : page.at(-1)?.id),
  });
  const { data, hasNextPage, isFetching, fetchNextPage } = query;
  const rows = useMemo(() => (data?.pages ?? []).flat(), [data]);
  const onEnd = useCallback(() => {
    if (hasNextPage && !isFetching) void fetchNextPage();
  }, [hasNextPage, isFetching, fetchNextPage]);
  if (query.isError) return <Failure error={query.error} again={() => void query.refetch()} />;
  if (data === undefined) return <Loading />;
  if (rows.length === 0)
    return (
      <Empty title={status === undefined ? 'No checkout' : `No checkout is ${status}`}>
        Shops make them through the API. With a link somebody pays an invoice without a shop.
      </Empty>
    );
  return <DataTable caption="Checkouts" columns={COLUMNS} rows={rows} keyOf={({ id }) => id} onEnd={onEnd} />;
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
