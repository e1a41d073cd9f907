// What the page sends to routes that do something, and what it is answered, as types. A part of `interface.ts`.
import type { AcquirerTrial, AcquirerView } from '../acquirers/acquirer-tasks.js';
import type { DirectEntryView } from '../directdebit/direct-entry-tasks.js';
import type { ListedFile } from '../directdebit/directdebit-tasks.js';
import type { ImportResult } from '../directdebit/files/returns-file.js';
import type { KeyRotation } from '../installation/key-rotation.js';
import type { Verified } from '../installation/seals.js';
import type { Verification } from '../journal/verification.js';
import type { OperatorRole } from '../operators/operator.js';
import type { OperatorView, OperatorWithLink } from '../operators/operators.js';
import type { MerchantView } from '../organisations/merchants.js';
import type { OrganisationView } from '../organisations/organisations.js';
import type { RouteView } from '../organisations/routing/route-tasks.js';
import type { SurchargeView } from '../organisations/surcharges.js';
import type { Permission } from '../organisations/users/permissions.js';
import type { UserView, UserWithSecret } from '../organisations/users/users.js';
import type { CardStatus } from '../payments/cards/card-tasks.js';
import type { AskedNow } from '../payments/doubt/doubts.js';
import type { OperatorRequest } from '../payments/requests/operator-request.js';
import type { DayLookedAt, DifferenceView } from '../settlement/difference-tasks.js';
import type { shownReconciliation } from '../settlement/settlement-tasks.js';
import type { Outward } from '../values/snake-case.js';
import type { ChangedToken, DeletedCustomer } from '../vault/vault-tasks.js';
import type { WebhookSecret, WebhookTest, WebhookView } from '../webhooks/webhook-tasks.js';

/** A void, refund or completion that was asked for: done (`audit`, `status`), or waiting for a second operator (`state`). */
export type RequestAnswer = Outward<OperatorRequest>;

/** `key`: made when the form is opened, 16 to 64 letters, digits, - and _; the same for every attempt of that form. */
interface Asked {
  readonly reason: string;
  readonly key: string;
}
/** Without an amount, all that is left. */
interface AskedAmount extends Asked {
  readonly amount_cents?: number;
}
interface Decision {
  readonly reason?: string;
}
type Nothing = Record<string, never>;
interface OfMerchant {
  readonly merchant?: number;
}

interface AcceptorBody {
  readonly acquirer?: string | null;
  readonly acceptor_id?: string;
  readonly terminals?: string[];
  readonly category_code?: string;
  readonly preauthorisation_days?: number;
  readonly card_days?: number;
  readonly vault?: boolean;
}

interface LimitsBody {
  readonly allow?: Permission[];
  readonly from_addresses?: string[];
  readonly expires?: string | null;
}

interface ConditionsBody {
  readonly card?: string;
  readonly bins?: string[];
  readonly currency?: string;
  readonly order?: number;
}

interface LinkSettings {
  readonly tls?: boolean;
  readonly trusted?: string | null;
  readonly dialect?: string;
  readonly connections?: number;
  readonly institution?: string | null;
  readonly deadline_ms?: number;
  readonly mac_keys?: string | null;
}

export interface DirectEntryBody {
  readonly bank: string;
  readonly user_name: string;
  readonly user_id: string;
  readonly description?: string;
  readonly trace_bsb: string;
  readonly trace_account: string;
  readonly remitter: string;
  readonly clearing_days?: number;
  readonly dispute_days?: number;
  readonly simulated?: boolean;
}

export interface ExportAnswer {
  readonly merchant: number;
  /** Null where nothing waits. Fetch it by its number. */
  readonly file: number | null;
  readonly items: number;
  readonly debit_cents?: number;
  readonly credit_cents?: number;
  readonly processing_day?: string;
  /** Items that did not fit: export once more. */
  readonly left?: number;
}

/** `recent`: what is marked with `!` needs a proof of the last five minutes (403 `authentication_not_recent`). */
export interface ActionRoutes {
  // Money!
  'POST /transactions/:organisation/:audit/void': { body: Asked; answer: RequestAnswer };
  'POST /transactions/:organisation/:audit/refund': { body: AskedAmount; answer: RequestAnswer };
  'POST /transactions/:organisation/:audit/completion': { body: AskedAmount; answer: RequestAnswer };
  'POST /transactions/:organisation/:audit/ask': { body: Nothing; answer: Outward<AskedNow> };
  /** Query: `organisation`, `audit`, `all=true`, `limit`. */
  'GET /approvals': { body: Nothing; answer: RequestAnswer[] };
  'POST /approvals/:request/approve': { body: Decision; answer: RequestAnswer }; // !
  'POST /approvals/:request/refuse': { body: Decision; answer: RequestAnswer };

  'POST /customers/:organisation/:id/delete': { body: Nothing; answer: Outward<DeletedCustomer> };
  'POST /tokens/:organisation/:id/activate': { body: Nothing; answer: Outward<ChangedToken> };
  'POST /tokens/:organisation/:id/deactivate': { body: Nothing; answer: Outward<ChangedToken> };
  'POST /tokens/:organisation/:id/delete': { body: Nothing; answer: Outward<ChangedToken> };

  'POST /organisations': { body: { name: string }; answer: Outward<OrganisationView> };
  'POST /merchants': {
    body: { organisation: number; name: string; live?: boolean } & AcceptorBody;
    answer: Outward<MerchantView>;
  };
  'POST /merchants/:merchant': { body: { name?: string } & AcceptorBody; answer: Outward<MerchantView> };
  'POST /merchants/:merchant/suspend': { body: Nothing; answer: Outward<MerchantView> };
  'POST /merchants/:merchant/resume': { body: Nothing; answer: Outward<MerchantView> };
  'POST /routes/:merchant/set': {
    body: { acquirer: string; share?: string } & ConditionsBody;
    answer: Outward<RouteView>[];
  };
  'POST /routes/:merchant/off': {
    body: { acquirer?: string } & ConditionsBody;
    answer: Outward<RouteView>[];
  };
  'POST /surcharges/:merchant/set': {
    body: {
      /** Scopes: `default`, `method:creditcard`, `card:amex` and so on. */
      rules: { scope: string; percent: string; from?: string; until?: string }[];
      permitted?: boolean;
    };
    answer: Outward<SurchargeView>[];
  };
  'POST /surcharges/:merchant/off': { body: Nothing; answer: Outward<SurchargeView>[] };

  /** The password is in the answer once, and nowhere else. ! */
  'POST /users': {
    body: { username: string; merchant: number; grants?: number[] } & LimitsBody;
    answer: Outward<UserWithSecret>;
  };
  'POST /users/:username': { body: LimitsBody; answer: Outward<UserView> }; // !
  'POST /users/:username/grant': { body: { merchant: number }; answer: Outward<UserView> }; // !
  'POST /users/:username/ungrant': { body: { merchant: number }; answer: Outward<UserView> };
  'POST /users/:username/rotate': { body: { overlap_ms?: number }; answer: Outward<UserWithSecret> }; // !
  'POST /users/:username/revoke': { body: Nothing; answer: Outward<UserView> };
  'POST /operators': {
    body: { name: string; role: OperatorRole; organisation?: number };
    answer: Outward<OperatorWithLink>;
  }; // !
  'POST /operators/:name/link': { body: Nothing; answer: Outward<OperatorWithLink> }; // !
  'POST /operators/:name/remove': { body: Nothing; answer: Outward<OperatorView> }; // !
  /** `organisation`: null for the whole installation. Signs the operator out. ! */
  'POST /operators/:name/set': {
    body: { role?: OperatorRole; organisation?: number | null };
    answer: Outward<OperatorView>;
  };
  'POST /operators/:name/sign-out': { body: Nothing; answer: { name: string; ended: number } }; // !

  'POST /acquirers': {
    body: { name: string; address: string; test?: boolean } & LinkSettings;
    answer: Outward<AcquirerView>;
  }; // !
  'POST /acquirers/:name': { body: { address?: string } & LinkSettings; answer: Outward<AcquirerView> }; // !
  'POST /acquirers/:name/remove': { body: Nothing; answer: Outward<AcquirerView> }; // !
  'POST /acquirers/:name/test': { body: Nothing; answer: Outward<AcquirerTrial> };
  'POST /webhooks': {
    body: { url: string; merchant: number; types?: string[] };
    answer: Outward<WebhookSecret>;
  }; // !
  'POST /webhooks/:id/rotate': { body: { overlap_ms?: number }; answer: Outward<WebhookSecret> }; // !
  'POST /webhooks/:id/disable': { body: Nothing; answer: Outward<WebhookView> };
  'POST /webhooks/:id/enable': { body: Nothing; answer: Outward<WebhookView> };
  'POST /webhooks/:id/remove': { body: Nothing; answer: Outward<WebhookView> };
  'POST /webhooks/:id/test': { body: Nothing; answer: Outward<WebhookTest> };
  'POST /webhooks/:id/resend': { body: { event: string }; answer: Outward<WebhookView> };
  'POST /webhooks/:id/replay': { body: { from: string }; answer: Outward<WebhookView> };

  'GET /directdebit/:merchant/settings': { body: Nothing; answer: Outward<DirectEntryView> };
  'POST /directdebit/:merchant/settings': { body: DirectEntryBody; answer: Outward<DirectEntryView> }; // !
  'GET /directdebit/:merchant/files': { body: Nothing; answer: Outward<ListedFile>[] };
  'POST /directdebit/:merchant/export': { body: Nothing; answer: ExportAnswer }; // !
  /** The file itself, as often as it is wanted, byte for byte. ! */
  'GET /directdebit/:merchant/files/:number': { body: Nothing; answer: string };
  /** The bank's file as the body, `application/octet-stream`. ! */
  'POST /directdebit/returns': { body: Blob; answer: Outward<ImportResult> };
  /** Query: `date`, `merchant`. */
  'GET /settlement.csv': { body: Nothing; answer: string };
  /** The acquirer's file as the body; query: `date`, `acquirer`. */
  'POST /settlement/reconcile': { body: Blob; answer: Outward<ReturnType<typeof shownReconciliation>> };

  /** All that are open of a day and an acquirer; `open` as many as the page has shown. */
  'POST /settlement/differences/looked-at': {
    body: Outward<DayLookedAt>;
    answer: { date: string; acquirer: string; looked_at: number };
  };
  'POST /settlement/differences/:difference/looked-at': {
    body: { note: string };
    answer: Outward<DifferenceView>;
  };

  'POST /keys/rotate': { body: OfMerchant; answer: Outward<KeyRotation> }; // !
  /** How far it is; it goes on when the page is closed. */
  'GET /keys/rotation': { body: Nothing; answer: Outward<KeyRotation> };
  'POST /keys/rewrap': { body: Nothing; answer: { data_keys: number } }; // !
  'POST /keys/verify': { body: OfMerchant; answer: Outward<Verified> };
  'POST /keys/destroy': { body: { merchant: number; version: number }; answer: object }; // !
  /** Query: `merchant`. */
  'GET /cards': { body: Nothing; answer: Outward<CardStatus> };
  'POST /cards/review': { body: OfMerchant; answer: { merchants: number } };
  'GET /clock': { body: Nothing; answer: { now: string; advanced_ms: number } };
  'POST /clock/advance': { body: { duration: string }; answer: { now: string; advanced_ms: number } };
  'POST /clock/reset': { body: Nothing; answer: { now: string; advanced_ms: number } };
  'POST /journal/verify': { body: Nothing; answer: Outward<Verification> };
}
