// All operators' tasks. Each subject declares its tasks in its own folder and has a line here.
import { ACQUIRERS } from '../acquirers/acquirer-tasks.js';
import { CHECKOUTS, type CheckoutMeans } from '../checkout/checkout-tasks.js';
import { CLOCK } from '../clock/clock-tasks.js';
import { DEMO } from '../demo/history.js';
import { DIRECT_DEBIT } from '../directdebit/directdebit-tasks.js';
import { EVENTS } from '../events/feed.js';
import { FIGURES } from '../figures/figures-check.js';
import { FIGURES_OF_DAY } from '../figures/today.js';
import { BACKUP, COUNTERS, RESTORE } from '../installation/backup.js';
import { DISTRIBUTE } from '../installation/distribution.js';
import { CELL } from '../installation/fleet/cells.js';
import { KEYS } from '../installation/keys.js';
import type { PaidElsewhere } from '../installation/moving/left-to-others.js';
import { RESTORED } from '../installation/restored.js';
import type { EntrySigner } from '../journal/entry-signer.js';
import { JOURNAL } from '../journal/journal-tasks.js';
import { ACCESS_REVIEW } from '../operators/access-review.js';
import { OPERATORS } from '../operators/operators.js';
import { LIMITS } from '../organisations/limits.js';
import { MERCHANTS } from '../organisations/merchants.js';
import { ORGANISATIONS } from '../organisations/organisations.js';
import { ROUTES } from '../organisations/routing/route-tasks.js';
import { SURCHARGES } from '../organisations/surcharges.js';
import type { CredentialKey } from '../organisations/users/credentials.js';
import { type DemoFollowing, USERS } from '../organisations/users/user-tasks.js';
import { ARCHIVE } from '../payments/archive.js';
import { CARDS } from '../payments/cards/card-tasks.js';
import { APPROVALS } from '../payments/requests/approvals.js';
import type { RequestMeans } from '../payments/requests/operator-requests.js';
import { TRANSACTIONS_CHANGED, TRANSACTIONS_SEEN } from '../payments/transaction-tasks.js';
import type { Queryable } from '../postgres/database.js';
import { SCHEDULES } from '../schedules/schedule-tasks.js';
import { SETTLEMENT } from '../settlement/settlement-tasks.js';
import type { Asked, Fields, Permission, Task } from '../tasks/task.js';
import type { Outward } from '../values/snake-case.js';
import type { DestroyCards } from '../vault/customers.js';
import type { KeyProvider } from '../vault/keys/key-provider.js';
import { VAULT } from '../vault/moving/vault-moving-tasks.js';
import { CUSTOMERS, TOKENS } from '../vault/vault-tasks.js';
import { WALLET_KEYS } from '../wallets/wallet-tasks.js';
import { WEBHOOKS, type WebhookMeans } from '../webhooks/webhook-tasks.js';

/** What tasks need besides the database. */
export interface Means extends DemoFollowing, CheckoutMeans {
  /** Has the key-encryption key of this database. */
  provider(): Promise<KeyProvider>;
  /** Seals users and operators. */
  key(): Promise<CredentialKey>;
  journalKey(): Promise<Buffer>;
  /** For voids, refunds and completions. */
  requests(): Promise<RequestMeans>;
  webhooks(): Promise<WebhookMeans>;
  /** Destroys the cards of a deleted customer. */
  readonly destroyCards: DestroyCards;
  /** How long a link may take to answer. */
  readonly acquirerDeadlineMs: number;
  /** Signs the journal of a database that was restored into this folder. Undefined if its key is not available. */
  readonly signerIfAvailable: (database: Queryable, dataDir: string) => Promise<EntrySigner | undefined>;
  /** Organisations of a restored database that other cells of the fleet pay for. */
  readonly paidElsewhere: (database: Queryable) => Promise<readonly PaidElsewhere[]>;
  /** The console's address, without a trailing slash. */
  readonly consoleUrl: string;
}

/** Declared in two folders: payments and figures. */
const TRANSACTIONS = {
  name: 'transaction',
  help: 'transactions, and what is in doubt',
  tasks: [...TRANSACTIONS_SEEN, FIGURES_OF_DAY, ...TRANSACTIONS_CHANGED],
} as const;

const OPERATORS_AND_REVIEW = { ...OPERATORS, tasks: [...OPERATORS.tasks, ACCESS_REVIEW] } as const;

/** In the order of `tollgate --help`. */
export const TASK_GROUPS = [
  DISTRIBUTE,
  BACKUP,
  RESTORE,
  COUNTERS,
  RESTORED,
  ARCHIVE,
  CELL,
  ORGANISATIONS,
  MERCHANTS,
  USERS,
  ACQUIRERS,
  ROUTES,
  TRANSACTIONS,
  APPROVALS,
  CHECKOUTS,
  SCHEDULES,
  CUSTOMERS,
  TOKENS,
  VAULT,
  CLOCK,
  SURCHARGES,
  LIMITS,
  WALLET_KEYS,
  DIRECT_DEBIT,
  SETTLEMENT,
  WEBHOOKS,
  KEYS,
  CARDS,
  OPERATORS_AND_REVIEW,
  JOURNAL,
  EVENTS,
  FIGURES,
  DEMO,
] as const;

export const TASKS: readonly Task<Means>[] = TASK_GROUPS.flatMap(
  ({ tasks }): readonly Task<Means>[] => tasks,
);

type AnyTask = (typeof TASK_GROUPS)[number]['tasks'][number];

/** The permission of a task, for a route that does more than the task. */
export function permissionOf(name: TaskName): Permission {
  return TASKS.find((task) => task.name === name) as Permission;
}

/** The words of commands. */
export type TaskName = AnyTask['name'];

type InPath<Path> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? Name | InPath<`/${Rest}`>
  : Path extends `${string}:${infer Name}`
    ? Name
    : never;

type AnswerOf<One> = One extends { readonly run: (...given: never) => Promise<infer Result> }
  ? Outward<Result>
  : never;

type InputOf<One> = One extends { readonly input: infer Input extends Fields }
  ? Outward<Asked<Input>>
  : never;

/** The query or body, and the answer, of each route that follows from a task. */
export type TaskRoutes = {
  [One in AnyTask as NonNullable<One['route']>]: {
    query: Omit<InputOf<One>, InPath<One['route']>>;
    answer: AnswerOf<One>;
  };
};
