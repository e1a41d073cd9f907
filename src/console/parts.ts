// What the console works with: given to it where the gateway is put together.
import type { Logger } from 'pino';
import type { ClientAddresses } from '../http/authentication.js';
import type { KeyRotations } from '../installation/keys.js';
import type { SealWatch } from '../journal/seal-watch.js';
import type { Challenges } from '../operators/sign-in/challenges.js';
import type { Passwords } from '../operators/sign-in/password.js';
import type { IdentityProvider } from '../operators/sign-in/provider.js';
import type { TotpSeals } from '../operators/sign-in/totp.js';
import type { CredentialKey } from '../organisations/users/credentials.js';
import type { RequestMeans } from '../payments/requests/operator-requests.js';
import type { Database } from '../postgres/database.js';
import type { TaskSettings } from '../tasks/task.js';
import type { KeyProvider } from '../vault/keys/key-provider.js';
import type { WebhookMeans } from '../webhooks/webhook-tasks.js';
import type { Latency } from './latency.js';
import type { Live } from './live.js';

export interface ConsoleParts {
  /** With the rights of operators' commands. Routes are given one that knows where the request comes from. */
  readonly database: Database;
  /** The same, with sessions of its own for what only reads. */
  readonly readDatabase: Database;
  /** Operators and their sessions are sealed under it. */
  readonly key: CredentialKey;
  readonly journalKey: Buffer;
  readonly seals: SealWatch;
  readonly provider: KeyProvider;
  /** For voids, refunds and completions. */
  readonly requests: RequestMeans;
  /** How long a link is waited for. */
  readonly acquirerDeadlineMs: number;
  readonly settings: TaskSettings;
  readonly webhooks: Omit<WebhookMeans, 'provider'>;
  readonly rotations: KeyRotations;
  /** How operators prove who they are. */
  readonly passwords: Passwords;
  readonly totp: TotpSeals;
  readonly challenges: Challenges;
  /** Undefined where the settings name none. */
  readonly identityProvider: IdentityProvider | undefined;
  /** Of the program. */
  readonly version: string;
  /** Whether the link of the demo's operator signs in. */
  readonly demo: boolean;
  /** Where browsers find the console, without a slash at its end, if that is not where it listens. */
  readonly publicUrl: string | undefined;
  /** Where payers find their pages, without a trailing slash; undefined where there are none. */
  readonly checkoutUrl: string | undefined;
  /** Whether it listens on loopback alone. */
  readonly onLoopback: boolean;
  readonly clientAddresses: ClientAddresses;
  /** Of acquirers, as the gateways count it. */
  readonly latency: Latency;
  /** What pages that watch are told. */
  readonly live: Live;
  readonly log: Pick<Logger, 'error' | 'warn' | 'info'>;
}
