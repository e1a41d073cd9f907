// One customer: tokens, payments and journal; and to deactivate or delete them.
import type { ReactNode } from 'react';
import { useLocation } from 'wouter';
import type { CustomerAnswer } from '../../../src/console/interface.js';
import { useAct } from '../acting.js';
import { useRead } from '../api/queries.js';
import { DialogButton } from '../forms/dialogs.js';
import { FormDialog } from '../forms/form-dialog.js';
import type { Column } from '../lists/column.js';
import { DataTable } from '../lists/data-table.js';
import { Mark, ModeMark } from '../marks.js';
import { useMay } from '../session.js';
import { Page, Section } from '../shell/page.js';
import { Empty, Failure, Shown } from '../states.js';
import { count } from '../words.js';
import { Facts } from './facts.js';
import { JOURNAL_COLUMNS } from './journal-columns.js';
import { TRANSACTION_COLUMNS } from './transaction-columns.js';
import { useTransactions } from './transactions.js';

type Token = CustomerAnswer['tokens'][number];

export default function OneCustomer({
  params,
}: {
  readonly params: { readonly organisation: string; readonly id: string };
}): ReactNode {
  const { organisation, id } = params;
  const query = useRead('GET /customers/:organisation/:id', { params: { organisation, id } });
  const act = useAct();
  const [, navigate] = useLocation();
  return (
    <Page
      title={`Customer ${id}`}
      beside={query.data !== undefined && <ModeMark mode={query.data.mode} />}
      actions={
        query.data !== undefined && (
          <DialogButton
            task="customer delete"
            label="Delete the customer"
            danger
            dialog={(close) => (
              <FormDialog
                title={`Delete customer ${id}`}
                submit="Delete for good"
                danger
                send={async () => {
                  await act(`/customers/${organisation}/${id}/delete`);
                  navigate('/customers');
                }}
                close={close}
              >
                <p>
                  The customer and all of their tokens are deleted, and cannot be brought back. Their payments
                  stay.
                </p>
              </FormDialog>
            )}
          />
        )
      }
    >
      <Shown query={query}>
        {(customer) => (
          <>
            <Section title={customer.name}>
              <Facts
                facts={{
                  Reference: customer.reference,
                  Merchant: customer.merchant,
                  Organisation: customer.organisation,
                }}
              />
            </Section>
            <Tokens tokens={customer.tokens} />
            <Payments organisation={organisation} customer={id} />
            <Section title="Journal">
              {customer.journal.length === 0 ? (
                <Empty title="Nothing in the journal" />
              ) : (
                <DataTable
                  caption="Journal of the customer"
                  columns={JOURNAL_COLUMNS}
                  rows={customer.journal}
                  keyOf={(entry) => entry.id}
                />
              )}
            </Section>
          </>
        )}
      </Shown>
    </Page>
  );
}

function Tokens({ tokens }: { readonly tokens: readonly Token[] }): ReactNode {
  const mayChange = useMay('token deactivate');
  const columns: Column<Token>[] = [
    { key: 'id', title: 'Token', show: ({ id }) => id },
    { key: 'pan', title: 'Virtual PAN', show: ({ virtual_pan }) => virtual_pan },
    { key: 'account', title: 'Card or account', show: ({ account }) => account ?? '–' },
    { key: 'holder', title: 'In the name of', show: ({ account_name }) => account_name ?? '–', wide: true },
    { key: 'name', title: 'Name', show: ({ preferred_name }) => preferred_name ?? '–', wide: true },
    { key: 'state', title: 'State', show: (token) => <Mark word={stateOf(token)} /> },
    ...(mayChange
      ? [{ key: 'actions', title: 'Change', show: (token: Token) => <TokenActions token={token} /> }]
      : []),
  ];
  return (
    <Section title={`Tokens (${count(tokens.length)})`}>
      {tokens.length === 0 ? (
        <Empty title="No token" />
      ) : (
        <DataTable caption="Tokens" columns={columns} rows={tokens} keyOf={({ id }) => id} />
      )}
    </Section>
  );
}

function stateOf({ deleted, active }: Token): string {
  if (deleted) return 'removed';
  return active ? 'active' : 'disabled';
}

function TokenActions({ token }: { readonly token: Token }): ReactNode {
  const act = useAct();
  const { id, organisation, active, deleted } = token;
  if (deleted) return null;
  const button = (verb: 'deactivate' | 'activate' | 'delete', label: string, words: string) => (
    <DialogButton
      task={`token ${verb}`}
      label={label}
      small
      danger={verb === 'delete'}
      dialog={(close) => (
        <FormDialog
          title={`${label} token ${id}`}
          submit={label}
          danger={verb === 'delete'}
          send={() => act(`/tokens/${organisation}/${id}/${verb}`)}
          close={close}
        >
          <p>{words}</p>
        </FormDialog>
      )}
    />
  );
  return (
    <>
      {active
        ? button('deactivate', 'Deactivate', 'Nothing can be paid with it until it is activated again.')
        : button('activate', 'Activate', 'It can be paid with again.')}{' '}
      {button('delete', 'Delete', 'It is deleted for good. What was paid with it stays.')}
    </>
  );
}

function Payments({
  organisation,
  customer,
}: {
  readonly organisation: string;
  readonly customer: string;
}): ReactNode {
  const query = useTransactions({ organisation, customer_id: customer });
  const rows = query.data?.pages.flatMap(({ results }) => results) ?? [];
  return (
    <Section title="Payments">
      {query.isError && <Failure error={query.error} again={() => void query.refetch()} />}
      {rows.length === 0 && !query.isError ? (
        <Empty title={query.isPending ? 'Looking for payments' : 'No payments yet'} />
      ) : (
        <DataTable
          caption="Payments of the customer"
          columns={TRANSACTION_COLUMNS.filter(({ extra }) => extra !== true)}
          rows={rows}
          keyOf={({ audit }) => audit}
          onEnd={() => query.hasNextPage && !query.isFetching && void query.fetchNextPage()}
        />
      )}
    </Section>
  );
}
