// The page: for those who are signed in the shell with one of its pages, for the others the gate. The address stays as it is.
import { lazy, type ReactNode, useState } from 'react';
import { Route, Switch } from 'wouter';
import { useSessionQuery } from './session.js';
import { Shell } from './shell/shell.js';
import { Enrolment } from './sign-in/enrolment.js';
import { Gate } from './sign-in/gate.js';
import { SignIn } from './sign-in/sign-in.js';
import { Empty, Failure, Loading } from './states.js';

const Today = lazy(() => import('./pages/today.js'));
const Approvals = lazy(async () => ({ default: (await import('./pages/payments.js')).Approvals }));
const Customers = lazy(async () => ({ default: (await import('./pages/payments.js')).Customers }));
const InDoubt = lazy(async () => ({ default: (await import('./pages/payments.js')).InDoubt }));
const OneCustomer = lazy(async () => ({ default: (await import('./pages/payments.js')).OneCustomer }));
const OneTransaction = lazy(async () => ({ default: (await import('./pages/payments.js')).OneTransaction }));
const Transactions = lazy(async () => ({ default: (await import('./pages/payments.js')).Transactions }));
const Account = lazy(async () => ({ default: (await import('./pages/administration.js')).Account }));
const Acquirers = lazy(async () => ({ default: (await import('./pages/administration.js')).Acquirers }));
const DirectDebit = lazy(async () => ({ default: (await import('./pages/administration.js')).DirectDebit }));
const Installation = lazy(async () => ({
  default: (await import('./pages/administration.js')).Installation,
}));
const Journal = lazy(async () => ({ default: (await import('./pages/administration.js')).Journal }));
const Keys = lazy(async () => ({ default: (await import('./pages/administration.js')).Keys }));
const Merchants = lazy(async () => ({ default: (await import('./pages/administration.js')).Merchants }));
const Operators = lazy(async () => ({ default: (await import('./pages/administration.js')).Operators }));
const Routes = lazy(async () => ({ default: (await import('./pages/administration.js')).Routes }));
const Settlement = lazy(async () => ({ default: (await import('./pages/administration.js')).Settlement }));
const Surcharges = lazy(async () => ({ default: (await import('./pages/administration.js')).Surcharges }));
const Users = lazy(async () => ({ default: (await import('./pages/administration.js')).Users }));
const Webhooks = lazy(async () => ({ default: (await import('./pages/administration.js')).Webhooks }));

export function App(): ReactNode {
  const session = useSessionQuery();
  const [isEnrolling, setEnrolling] = useState(false);
  if (isEnrolling) return <Enrolment done={() => setEnrolling(false)} />;
  if (session.data === null) return <SignIn enrol={() => setEnrolling(true)} />;
  if (session.data !== undefined)
    return (
      <Shell session={session.data}>
        <Pages />
      </Shell>
    );
  return (
    <Gate title="Tollgate">
      {session.isError ? <Failure error={session.error} again={() => void session.refetch()} /> : <Loading />}
    </Gate>
  );
}

function Pages(): ReactNode {
  return (
    <Switch>
      <Route path="/" component={Today} />
      <Route path="/sign-in" component={Today} />
      <Route path="/transactions" component={Transactions} />
      <Route path="/transactions/:organisation/:audit" component={OneTransaction} />
      <Route path="/in-doubt" component={InDoubt} />
      <Route path="/customers" component={Customers} />
      <Route path="/customers/:organisation/:id" component={OneCustomer} />
      <Route path="/approvals" component={Approvals} />
      <Route path="/direct-debit" component={DirectDebit} />
      <Route path="/settlement" component={Settlement} />
      <Route path="/merchants" component={Merchants} />
      <Route path="/users" component={Users} />
      <Route path="/routes" component={Routes} />
      <Route path="/acquirers/:name?" component={Acquirers} />
      <Route path="/surcharges" component={Surcharges} />
      <Route path="/webhooks/:id?" component={Webhooks} />
      <Route path="/keys" component={Keys} />
      <Route path="/clock-and-cards" component={Installation} />
      <Route path="/journal" component={Journal} />
      <Route path="/operators" component={Operators} />
      <Route path="/account" component={Account} />
      <Route>
        <Empty title="There is no such page">Choose one from the navigation.</Empty>
      </Route>
    </Switch>
  );
}
