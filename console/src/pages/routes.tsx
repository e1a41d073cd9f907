// Routes: over which acquirer a merchant's cards go, by card, BIN and currency.
import type { ReactNode } from 'react';
import type { Answer } from '../../../src/console/interface.js';
import { useAct } from '../acting.js';
import { useRead } from '../api/queries.js';
import { DialogButton } from '../forms/dialogs.js';
import { FormDialog } from '../forms/form-dialog.js';
import type { Column } from '../lists/column.js';
import { List } from '../lists/list.js';
import { useMay } from '../session.js';
import { Page } from '../shell/page.js';
import { Empty } from '../states.js';
import { useMerchantChoice } from './merchant-choice.js';

type RouteLine = Answer<'GET /routes'>[number];

const COLUMNS: readonly Column<RouteLine>[] = [
  { key: 'order', title: 'Order', number: true, show: ({ order }) => order, sortBy: ({ order }) => order },
  { key: 'acquirer', title: 'Acquirer', show: ({ acquirer }) => acquirer },
  { key: 'card', title: 'Card', show: ({ card }) => card ?? 'any' },
  { key: 'bin', title: 'BIN', show: ({ bin }) => bin ?? 'any' },
  { key: 'currency', title: 'Currency', show: ({ currency }) => currency ?? 'any' },
  { key: 'share', title: 'Share', number: true, show: ({ share }) => (share === null ? '–' : `${share}%`) },
];

const keyOf = ({ order, acquirer, card, bin, currency }: RouteLine) =>
  [order, acquirer, card, bin, currency].join(' ');

export default function Routes(): ReactNode {
  const { merchant, chooser } = useMerchantChoice();
  const query = useRead('GET /routes', { query: { merchant } }, { when: merchant !== undefined });
  const mayChange = useMay('route set');
  const remove: Column<RouteLine> = {
    key: 'change',
    title: 'Change',
    show: (route) => <Remove route={route} merchant={merchant as number} />,
  };
  return (
    <Page
      title="Routes"
      beside={chooser}
      actions={mayChange && merchant !== undefined && <SetRoute merchant={merchant} />}
    >
      {merchant === undefined ? (
        <Empty title="No merchant to choose">Add a merchant first.</Empty>
      ) : (
        <List
          caption="Routes"
          query={query}
          columns={mayChange ? [...COLUMNS, remove] : COLUMNS}
          keyOf={keyOf}
          empty="No route"
          emptyAdvice="All of its cards go over the merchant’s own acquirer."
        />
      )}
    </Page>
  );
}

function SetRoute({ merchant }: { readonly merchant: number }): ReactNode {
  const act = useAct();
  return (
    <DialogButton
      label="Set a route"
      primary
      dialog={(close) => (
        <FormDialog
          title="Set a route"
          submit="Set the route"
          fields={[
            { name: 'acquirer', label: 'Acquirer', required: true },
            { name: 'card', label: 'Card', placeholder: 'visa' },
            { name: 'bins', label: 'BINs', kind: 'list', placeholder: '411111 4222' },
            { name: 'currency', label: 'Currency', placeholder: 'AUD' },
            { name: 'share', label: 'Share in percent' },
            {
              name: 'order',
              label: 'Order',
              kind: 'number',
              description: 'The first is asked first; the next when it gives no answer.',
            },
          ]}
          send={(body) => act(`/routes/${merchant}/set`, body)}
          close={close}
        />
      )}
    />
  );
}

function Remove({ route, merchant }: { readonly route: RouteLine; readonly merchant: number }): ReactNode {
  const act = useAct();
  const { acquirer, card, bin, currency, order } = route;
  const body = {
    acquirer,
    order,
    ...(card !== null && { card }),
    ...(bin !== null && { bins: [bin] }),
    ...(currency !== null && { currency }),
  };
  return (
    <DialogButton
      label="Remove"
      small
      danger
      dialog={(close) => (
        <FormDialog
          title="Remove the route"
          submit="Remove"
          danger
          send={() => act(`/routes/${merchant}/off`, body)}
          close={close}
        >
          <p>
            Cards that went to {acquirer} by it go by the next route that fits, or over the merchant’s own
            acquirer.
          </p>
        </FormDialog>
      )}
    />
  );
}
