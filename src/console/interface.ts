// What the page and the gateway say to each other: the answer and the body of each route, as types. The page imports this file and
// nothing else of src/. Paths are below `/console/api`.
import type { LiveFigures } from '../figures/live.js';
import type { Today } from '../figures/today.js';
import type { SessionStage, SignInMethod } from '../operators/sessions.js';
import type {
  PublicKeyCredentialCreationOptionsJSON,
  PublicKeyCredentialRequestOptionsJSON,
} from '../operators/sign-in/passkeys.js';
import type { Doubt } from '../payments/doubt/doubts.js';
import type { TransactionLife } from '../payments/finding/transaction-life.js';
import type {
  TransactionFilter,
  TransactionPage,
  TransactionTotals,
} from '../payments/finding/transaction-search.js';
import type { OperatorRequest } from '../payments/requests/operator-request.js';
import type { DifferenceView, OpenDay } from '../settlement/differences.js';
import type { SettlementReport } from '../settlement/report.js';
import type { ShownReconciliation } from '../settlement/settlement-tasks.js';
import type { OperatorRole } from '../tasks/task.js';
import type { Mode } from '../values/mode.js';
import type { Outward } from '../values/snake-case.js';
import type { CustomerDetails, CustomerPage, FoundToken } from '../vault/customer-search.js';
import type { TaskName, TaskRoutes } from './all-tasks.js';

export type { OperatorView, OperatorWithLink } from '../operators/operators.js';
export type { SessionView } from '../operators/sessions.js';
export type { PasskeyView } from '../operators/sign-in/enrolment.js';
export type { Outward } from '../values/snake-case.js';
export type { TaskName as Task } from './all-tasks.js';
export type { ErrorBody } from './problems.js';

/** `GET /sign-in`, for whoever is not signed in. */
export interface SignInAnswer {
  readonly version: string;
  readonly demo: boolean;
  /** Whether the page has a name that passkeys can belong to: an address is none. */
  readonly passkeys: boolean;
  /** What the identity provider is called; null where there is none. */
  readonly provider: string | null;
}

/** `POST /sign-in/passkey/options` and `/re-authenticate/passkey/options`: for `navigator.credentials.get`. */
export type PasskeyRequest = PublicKeyCredentialRequestOptionsJSON;

/** `POST /enrol/passkey/options` and `/passkeys/options`: for `navigator.credentials.create`. */
export type PasskeyCreation = PublicKeyCredentialCreationOptionsJSON;

/** `POST /enrol/codes`: what an authenticator app is given. */
export interface NewCodes {
  /** Comes back with `POST /enrol/password`. */
  readonly sealed: string;
  /** To be typed in. */
  readonly secret: string;
  /** To be shown as a picture. */
  readonly uri: string;
}

/** `POST /sign-in/link`. */
export interface LinkBody {
  readonly name: string;
  /** Behind the colon of the link. */
  readonly token: string;
}

/** `enrolling`: now a passkey, or a password and a code, have to be set. */
export interface LinkAnswer {
  readonly stage: SessionStage;
}

/** `GET /session`. */
export interface SessionAnswer {
  readonly operator: string;
  readonly role: OperatorRole;
  /** Null: of the whole installation. */
  readonly organisation: number | null;
  /** Live as soon as one merchant is that this operator can see. */
  readonly mode: Mode;
  readonly demo: boolean;
  readonly version: string;
  /** The server's clock. */
  readonly now: string;
  readonly method: SignInMethod;
  readonly ends_at: string;
  /** What the operator may do, in the words of commands: the page offers nothing else. */
  readonly tasks: readonly TaskName[];
  /** Whether routes for money and keys can be called without proving again who one is. */
  readonly recent: boolean;
  /** What this installation is called among others; and the consoles of the others, for an operator of the whole installation. */
  readonly cell: string;
  readonly other_cells: readonly { readonly name: string; readonly console: string }[];
}

/** As it stands in an address: everything is text there, and what is not asked for is left out. */
export type TransactionsQuery = Outward<TransactionFilter> & {
  /** The search box: last four, amount, day, audit, correlation ID, reference, customer or virtual PAN, or several of them together. */
  readonly q?: string;
  /** 1 to 100. */
  readonly limit?: number;
  /** `next` of the page before. */
  readonly after?: string;
};

/** A page as it is answered: where the next one goes on is one text. */
type Paged<Page> = Omit<Outward<Page>, 'end'> & {
  /** For `after`, if there may be more. */
  readonly next: string | null;
};

export type TransactionsAnswer = Paged<TransactionPage>;
export type TransactionTotalsAnswer = Outward<TransactionTotals>;
export type TransactionLine = TransactionsAnswer['results'][number];
export type TransactionAnswer = Outward<TransactionLife>;
export type TimelineStep = TransactionAnswer['timeline'][number];
export type TodayAnswer = Outward<Today>;
/** The data of each event of the stream. */
export type LiveEvent = Outward<LiveFigures>;
/** Of a void, refund or completion, and of what waits for a second operator. */
export type OperatorRequestAnswer = Outward<OperatorRequest>;
/** `POST /settlement/reconcile`. */
export type ReconciliationAnswer = Outward<ShownReconciliation>;
export type DoubtLine = Outward<Doubt>;
export type CustomersAnswer = Paged<CustomerPage>;
export type CustomerAnswer = Outward<CustomerDetails>;

export interface CustomersQuery {
  readonly organisation?: number;
  readonly merchant?: number;
  /** A part of the name or of the reference; or the number of a customer; or a virtual PAN. */
  readonly q?: string;
  readonly limit?: number;
  readonly after?: string;
}

/** What can be read. Path parameters are `:organisation` and so on. Lists of administration are what the CLI prints with `--json`. */
export interface ReadRoutes extends TaskRoutes {
  'GET /today': {
    /** A day in Sydney; today by default. */
    query: { date?: string; organisation?: number; mode?: 'test' | 'live'; transaction_type?: string };
    answer: TodayAnswer;
  };
  /** Server-sent events, one each second. */
  'GET /live': { query: { organisation?: number; mode?: 'test' | 'live' }; answer: LiveEvent };
  'GET /transactions': { query: TransactionsQuery; answer: TransactionsAnswer };
  /** A file: exactly the filter, without `limit` and `after`. */
  /** What the transactions of a filter come to, up to 10,000 of them. */
  'GET /transactions/totals': {
    query: Omit<TransactionsQuery, 'q' | 'limit' | 'after'>;
    answer: TransactionTotalsAnswer;
  };
  'GET /transactions.csv': { query: TransactionsQuery; answer: string };
  'GET /transactions/:organisation/:audit': { query: Record<string, never>; answer: TransactionAnswer };
  'GET /in-doubt': {
    query: { organisation?: number; merchant?: number; mode?: 'test' | 'live'; limit?: number };
    answer: DoubtLine[];
  };
  'GET /customers': { query: CustomersQuery; answer: CustomersAnswer };
  /** Its payments are `GET /transactions` with `organisation` and `customer_id`. */
  'GET /customers/:organisation/:id': { query: Record<string, never>; answer: CustomerAnswer };
  'GET /tokens': { query: { virtual_pan: string; organisation?: number }; answer: Outward<FoundToken>[] };
  'GET /settlement': { query: { date: string; merchant?: number }; answer: Outward<SettlementReport> };
  /** Those that are open, unless `all` is `true`; `days` has every day on which something is. */
  'GET /settlement/differences': {
    query: { date?: string; acquirer?: string; all?: string };
    answer: { differences: Outward<DifferenceView>[]; days: Outward<OpenDay>[]; acquirers: string[] };
  };
}

export type Answer<Route extends keyof ReadRoutes> = ReadRoutes[Route] extends { answer: infer Given }
  ? Given
  : never;
export type Query<Route extends keyof ReadRoutes> = ReadRoutes[Route] extends { query: infer Asked }
  ? Asked
  : never;
