// The page: for those who are signed in the shell with one of its pages, for the others the gate. The address stays as it is.
import { lazy, type ReactNode, useEffect, useState } from 'react';
import { Route, Switch } from 'wouter';
import { useSessionQuery } from './session.js';
import { Shell } from './shell/shell.js';
import { Enrolment } from './sign-in/enrolment.js';
import { Gate } from './sign-in/gate.js';
import { SignIn } from './sign-in/sign-in.js';
import { Empty, Failure, Loading } from './states.js';

const payments = () => import('./pages/payments.js');
const administration = () => import('./pages/administration.js');

const Today = lazy(() => import('./pages/today.js'));
const Approvals = lazy(async () => ({ default: (await payments()).Approvals }));
const Checkouts = lazy(async () => ({ default: (await payments()).Checkouts }));
const Customers = lazy(async () => ({ default: (await payments()).Customers }));
const InDoubt = lazy(async () => ({ default: (await payments()).InDoubt }));
const Schedules = lazy(async () => ({ default: (await payments()).Schedules }));
const OneSchedule = lazy(async () => ({ default: (await payments()).OneSchedule }));
const OneCheckout = lazy(async () => ({ default: (await payments()).OneCheckout }));
const OneCustomer = lazy(async () => ({ default: (await payments()).OneCustomer }));
const OneTransaction = lazy(async () => ({ default: (await payments()).OneTransaction }));
const Transactions = lazy(async () => ({ default: (await payments()).Transactions }));
const Account = lazy(async () => ({ default: (await administration()).Account }));
const Acquirers = lazy(async () => ({ default: (await administration()).Acquirers }));
const DirectDebit = lazy(async () => ({ default: (await administration()).DirectDebit }));
const Installation = lazy(async () => ({
  default: (await administration()).Installation,
}));
const Journal = lazy(async () => ({ default: (await administration()).Journal }));
const Keys = lazy(async () => ({ default: (await administration()).Keys }));
const Merchants = lazy(async () => ({ default: (await administration()).Merchants }));
const Operators = lazy(async () => ({ default: (await administration()).Operators }));
const Routes = lazy(async () => ({ default: (await administration()).Routes }));
const Settlement = lazy(async () => ({ default: (await administration()).Settlement }));
const Limits = lazy(async () => ({ default: (await administration()).Limits }));
const Surcharges = lazy(async () => ({ default: (await administration()).Surcharges }));
const Users = lazy(async () => ({ default: (await administration()).Users }));
const Webhooks = lazy(async () => ({ default: (await administration()).Webhooks }));

export function App(): ReactNode {
  const session = useSessionQuery();
  const [isEnrolling, setEnrolling] = useState(false);
  const isSignedIn = session.data !== undefined && session.data !== null;
  useEffect(() => {
    // Navigation while the gateway restarts ends up here.
    if (isSignedIn) Promise.all([payments(), administration()]).catch(() => {});
  }, [isSignedIn]);
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
      <Route path="/checkouts" component={Checkouts} />
      <Route path="/checkouts/:merchant/:id" component={OneCheckout} />
      <Route path="/schedules" component={Schedules} />
      <Route path="/schedules/:merchant/:id" component={OneSchedule} />
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
      <Route path="/limits" component={Limits} />
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
