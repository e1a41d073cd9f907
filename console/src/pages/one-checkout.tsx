// One checkout: what was asked for, its link as long as it can be paid, what was tried, and to withdraw it.
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { Answer } from '../../../src/console/interface.js';
import { useAct } from '../acting.js';
import { useRead } from '../api/queries.js';
import { DialogButton } from '../forms/dialogs.js';
import { FormDialog } from '../forms/form-dialog.js';
import type { Column } from '../lists/column.js';
import { DataTable } from '../lists/data-table.js';
import { transactionAt, transactionsAt } from '../lists/filtered.js';
import { Mark } from '../marks.js';
import { useMode } from '../mode.js';
import { Page, Section } from '../shell/page.js';
import { Empty, Shown } from '../states.js';
import { moment, spaced } from '../words.js';
import { amountOf } from './checkouts.js';
import { Facts } from './facts.js';
import { PaymentLink } from './payment-link.js';

type Checkout = Answer<'GET /checkouts/:merchant/:id'>;
type Attempt = Checkout['tried'][number];

/** That its time is over is no event of the live stream. */
const AGAIN_MS = 5_000;

export default function OneCheckout({
  params,
}: {
  readonly params: { readonly merchant: string; readonly id: string };
}): ReactNode {
  const query = useRead('GET /checkouts/:merchant/:id', { params }, { everyMs: AGAIN_MS });
  const { data } = query;
  return (
    <Page
      title={data === undefined ? 'Checkout' : `Checkout ${data.reference}`}
      beside={data !== undefined && <Mark word={data.status} />}
      actions={data?.status === 'open' && <Withdraw checkout={data} />}
    >
      <Shown query={query}>
        {(checkout) => (
          <>
            <div className="columns">
              <Section title={`${spaced(checkout.operation)} ${amountOf(checkout)}`}>
                <Facts facts={factsOf(checkout)} />
              </Section>
              {checkout.status === 'open' && checkout.url !== null && (
                <Section title="Link">
                  <PaymentLink url={checkout.url} />
                </Section>
              )}
            </div>
            <Attempts checkout={checkout} />
          </>
        )}
      </Shown>
    </Page>
  );
}

const METHODS: Readonly<Record<string, string>> = { creditcard: 'card', bankaccount: 'bank account' };

function factsOf(checkout: Checkout): Readonly<Record<string, ReactNode>> {
  const { organisation, customer, audit } = checkout;
  return {
    ID: checkout.id,
    Merchant: `${checkout.merchant}, organisation ${organisation}`,
    Reference: checkout.reference,
    Description: checkout.description,
    'Can be paid by': checkout.payment_methods.map((method) => METHODS[method] ?? method).join(' or '),
    Customer:
      customer === null ? null : <Link href={`/customers/${organisation}/${customer}`}>{customer}</Link>,
    Created: moment(checkout.created),
    Expires: moment(checkout.expires),
    'Paid by transaction':
      audit === null ? null : <Link href={transactionAt({ organisation, audit })}>{audit}</Link>,
  };
}

function Attempts({ checkout: { id, organisation, tried } }: { readonly checkout: Checkout }): ReactNode {
  const mode = useMode();
  const columns: readonly Column<Attempt>[] = [
    { key: 'n', title: 'Attempt', show: ({ n }) => n },
    {
      key: 'outcome',
      title: 'Outcome',
      show: ({ outcome }) => <Mark word={outcome} tone={TONES[outcome] ?? 'doubt'} />,
    },
    {
      key: 'audit',
      title: 'Transaction',
      show: ({ audit }) =>
        audit === null ? '–' : <Link href={transactionAt({ organisation, audit })}>{audit}</Link>,
    },
  ];
  return (
    <Section title="Attempts">
      {tried.length === 0 ? (
        <Empty title="Nobody has tried to pay yet" />
      ) : (
        <>
          <DataTable caption="Attempts" columns={columns} rows={tried} keyOf={({ n }) => n} />
          <Link href={transactionsAt({ mode, checkout_id: id })}>Transactions of this checkout</Link>
        </>
      )}
    </Section>
  );
}

const TONES: Readonly<Record<string, 'good' | 'bad'>> = { paid: 'good', 'not paid': 'bad' };

function Withdraw({ checkout: { merchant, id, reference } }: { readonly checkout: Checkout }): ReactNode {
  const act = useAct();
  return (
    <DialogButton
      task="checkout cancel"
      label="Withdraw"
      danger
      dialog={(close) => (
        <FormDialog
          title={`Withdraw ${reference}`}
          submit="Withdraw for good"
          danger
          send={() => act(`/checkouts/${merchant}/${id}/cancel`)}
          close={close}
        >
          <p>Nobody can pay by this link any more, and it cannot be brought back. Make a new one instead.</p>
        </FormDialog>
      )}
    />
  );
}
