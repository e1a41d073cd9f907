// Surcharges: what a merchant adds for a card, by card type or BIN.
import type { ReactNode } from 'react';
import type { Answer } from '../../../src/console/interface.js';
import { useAct } from '../acting.js';
import { useRead } from '../api/queries.js';
import { DialogButton } from '../forms/dialogs.js';
import { FormDialog } from '../forms/form-dialog.js';
import type { Column } from '../lists/column.js';
import { List } from '../lists/list.js';
import { Page } from '../shell/page.js';
import { Empty } from '../states.js';
import { useMerchantChoice } from './merchant-choice.js';

type Surcharge = Answer<'GET /surcharges'>[number];

const COLUMNS: readonly Column<Surcharge>[] = [
  { key: 'scope', title: 'For', show: ({ scope }) => scope, sortBy: ({ scope }) => scope },
  { key: 'percent', title: 'Percent', number: true, show: ({ percent }) => `${percent}%` },
  { key: 'from', title: 'From', show: ({ from }) => from ?? 'always' },
  { key: 'until', title: 'Until', show: ({ until }) => until ?? 'for good' },
];

const SCOPES = [
  'default',
  'method:creditcard',
  'method:bankaccount',
  'card:visa',
  'card:mastercard',
  'card:amex',
  'card:diners',
  'card:jcb',
  'card:discover',
  'card:unionpay',
  'card:eftpos',
];

export default function Surcharges(): ReactNode {
  const { merchant, chooser } = useMerchantChoice();
  const query = useRead('GET /surcharges', { query: { merchant } }, { when: merchant !== undefined });
  const act = useAct();
  return (
    <Page
      title="Surcharges"
      beside={chooser}
      actions={
        merchant !== undefined && (
          <>
            <DialogButton
              task="surcharge set"
              label="Set a surcharge"
              primary
              dialog={(close) => (
                <FormDialog
                  title="Set a surcharge"
                  submit="Set it"
                  fields={[
                    { name: 'scope', label: 'For', kind: 'choice', required: true, choices: SCOPES },
                    { name: 'percent', label: 'Percent', required: true, placeholder: '1.5' },
                    { name: 'from', label: 'First day', kind: 'date' },
                    { name: 'until', label: 'Last day', kind: 'date' },
                    {
                      name: 'permitted',
                      label: 'The merchant may surcharge cards whose schemes may forbid it',
                      kind: 'flag',
                    },
                  ]}
                  send={({ permitted, ...rule }) =>
                    act(`/surcharges/${merchant}/set`, { permitted, rules: [rule] })
                  }
                  close={close}
                >
                  <p>A rule for the same thing from the same day is replaced.</p>
                </FormDialog>
              )}
            />
            <DialogButton
              task="surcharge off"
              label="Remove all"
              danger
              dialog={(close) => (
                <FormDialog
                  title="Remove all surcharges of the merchant"
                  submit="Remove all"
                  danger
                  send={() => act(`/surcharges/${merchant}/off`)}
                  close={close}
                >
                  <p>Cards pay the amount that the merchant sends.</p>
                </FormDialog>
              )}
            />
          </>
        )
      }
    >
      {merchant === undefined ? (
        <Empty title="No merchant to choose">Add a merchant first.</Empty>
      ) : (
        <List
          caption="Surcharges"
          query={query}
          columns={COLUMNS}
          keyOf={({ scope, from }) => `${scope} ${from}`}
          empty="No surcharge"
          emptyAdvice="Cards pay the amount that the merchant sends."
        />
      )}
    </Page>
  );
}
