// The keys that seal card data, as the operator looks at them, renews them while the gateway serves, and destroys them.
import { WRAPPED_MAC_KEYS } from '../acquirers/acquirer-tasks.js';
import { checkMerchant, ofLiveMerchant } from '../organisations/merchants.js';
import type { CredentialKey } from '../organisations/users/credentials.js';
import { SEALED_PAYMENT_DETAILS } from '../payments/cards/payment-details.js';
import type { Database, Queryable } from '../postgres/database.js';
import { count, FLAG, ID, TEXT } from '../tasks/kinds.js';
import { type Doing, needed, optional, type Progress, task } from '../tasks/task.js';
import type { MerchantId } from '../values/ids.js';
import { refuse } from '../values/refusal.js';
import { table } from '../values/text-table.js';
import { WRAPPED_INSTALLATION_KEYS } from '../vault/keys/installation-keys.js';
import { withJournalledSeals } from '../vault/keys/journalled-keys.js';
import type { KeyProvider } from '../vault/keys/key-provider.js';
import type { OnBroken } from '../vault/keys/keys.js';
import { DEFAULT_KEY_LIMITS, type DueBecause, type KeyLimits } from '../vault/keys/renewal.js';
import {
  Rotation,
  type RotationParts,
  type RotationProgress,
  type RotationResult,
} from '../vault/keys/rotation.js';
import { SEALED_TOKENS } from '../vault/keys/sealed-rows.js';
import { SEALED_WALLET_KEYS } from '../wallets/wallet-keys.js';
import { SEALED_WEBHOOK_SECRETS } from '../webhooks/secrets.js';
import { KEY_STATUS } from './keys.sql.js';
import { verifySeals } from './seals.js';
import { sealAsItIs } from './subjects.js';

interface KeyStatus {
  readonly merchant: MerchantId;
  readonly version: number;
  readonly seals: boolean;
  readonly tokens: number;
  readonly transactions: number;
  readonly webhooks: number;
  /** How much it has sealed in all, as far as processes have counted it. */
  readonly sealed: number;
  /** Why the gateways are about to renew it, if they are; null of a version that has been replaced. */
  readonly due: DueBecause | 'no' | null;
  readonly keyEncryptionKey: string;
  readonly createdAt: Date;
}

interface RotationWish {
  /** Only this merchant's keys; absent, every merchant's. */
  readonly merchant?: number | undefined;
  readonly progress?: (at: RotationProgress) => void;
}

/** Every version of every merchant's data key, and how many rows it seals. */
export async function showKeys(
  database: Queryable,
  limits: KeyLimits = DEFAULT_KEY_LIMITS,
): Promise<KeyStatus[]> {
  return (await database.query<KeyStatus>(KEY_STATUS, [limits.days, limits.seals])).rows;
}

/** New data keys, and everything sealed anew under them. Can be interrupted and run again. */
export async function rotateKeys(
  database: Database,
  operator: string,
  provider: KeyProvider,
  { merchant, progress = () => {} }: RotationWish = {},
): Promise<RotationResult> {
  await checkMerchant(database, merchant);
  return withJournalledSeals(database, operator, (onBroken) =>
    rotation(database, operator, provider, onBroken).rotate(merchant, progress),
  );
}

/** The rotation that an operator has begun on the console: it goes on when the page is closed, and says how far it is. */
export interface KeyRotation {
  readonly running: boolean;
  /** Undefined: of all merchants. */
  readonly merchant?: number | undefined;
  readonly begunBy?: string;
  readonly begun?: Date;
  /** Of the merchant whose rows are sealed anew just now. */
  readonly now?: { readonly merchant: number; readonly done: number; readonly total: number } | undefined;
  readonly rows?: number;
  readonly broken?: number;
  /** It can be begun again: what is done stays done. */
  readonly failed?: boolean;
}

export class KeyRotations {
  #state: KeyRotation = { running: false };

  constructor(private readonly onFailed: (error: unknown) => void) {}

  get state(): KeyRotation {
    return this.#state;
  }

  /** Begins one, unless one is running: then that one is shown. */
  begin(
    database: Database,
    operator: string,
    provider: KeyProvider,
    merchant: number | undefined,
  ): KeyRotation {
    if (this.#state.running) return this.#state;
    const begun = { merchant, begunBy: operator, begun: new Date() };
    this.#state = { running: true, ...begun };
    const progress = ({ merchantId, done, total }: RotationProgress) => {
      this.#state = { running: true, ...begun, now: { merchant: merchantId, done, total } };
    };
    void rotateKeys(database, operator, provider, { merchant, progress }).then(
      ({ rows, broken }) => {
        this.#state = { running: false, ...begun, rows, broken };
      },
      (error: unknown) => {
        this.#state = { running: false, ...begun, failed: true };
        this.onFailed(error);
      },
    );
    return this.#state;
  }
}

/** A new key-encryption key: data keys are wrapped anew, card data is not touched. Returns how many data keys there are. */
export function rewrapKeys(database: Database, operator: string, provider: KeyProvider): Promise<number> {
  return rotation(database, operator, provider).rewrap();
}

/** Destroys a retired version for good, once nothing is sealed under it. */
export function destroyKey(
  database: Database,
  operator: string,
  provider: KeyProvider,
  { merchant, version }: { readonly merchant: number; readonly version: number },
): Promise<void> {
  return rotation(database, operator, provider).destroy(merchant, version);
}

/** Everything that is sealed under the data keys of a merchant. */
export const SEALED = [SEALED_TOKENS, SEALED_PAYMENT_DETAILS, SEALED_WEBHOOK_SECRETS, SEALED_WALLET_KEYS];

export function rotation(
  database: Database,
  actor: string,
  provider: KeyProvider,
  onBroken?: OnBroken,
  pace: Pick<RotationParts, 'rest' | 'keysDatabase'> = {},
): Rotation {
  return new Rotation({
    database,
    provider,
    actor,
    sealed: SEALED,
    wrapped: [WRAPPED_MAC_KEYS, WRAPPED_INSTALLATION_KEYS],
    ...(onBroken && { onBroken }),
    ...pace,
  });
}

type WithKey = Doing<{ provider(): Promise<KeyProvider> }>;
type WithKeys = Doing<{ provider(): Promise<KeyProvider>; key(): Promise<CredentialKey> }>;

const OF_MERCHANT = optional(ID, '--merchant <id>', 'only this merchant', { names: 'merchants' });

/** With a bar for each merchant. */
async function rotateWithBars(
  { database, actor, means, progress }: WithKey,
  merchant: number | undefined,
): Promise<RotationResult> {
  const bars = new Map<MerchantId, Progress>();
  return rotateKeys(database, actor, await means.provider(), {
    merchant,
    progress: ({ merchantId, done, total }) => {
      const show = bars.get(merchantId) ?? progress(`merchant ${merchantId}`);
      bars.set(merchantId, show);
      show(done, total);
    },
  });
}

export const KEYS = {
  name: 'keys',
  help: 'the keys that seal card data',
  tasks: [
    task({
      name: 'keys status',
      help: 'show how many rows each version of each merchant’s data key seals, and whether it is due',
      role: 'viewer',
      scope: 'installation',
      route: 'GET /keys',
      input: {},
      run: async ({ database, settings, means }: WithKey) => {
        // Refused where the key-encryption key cannot be used, as every command about keys is.
        await means.provider();
        return showKeys(database, settings.dataKeyLimits);
      },
    }),
    task({
      name: 'keys rotate',
      help: 'make new data keys and seal everything anew, while the gateway serves; can be interrupted and run again',
      role: 'administrator',
      scope: 'organisation',
      fresh: true,
      input: {
        merchant: OF_MERCHANT,
        keyEncryptionKey: optional(
          FLAG,
          '--key-encryption-key',
          'renew the key-encryption key instead, of all merchants: data keys are wrapped anew, card data is not touched',
          { excludes: OF_MERCHANT.flag },
        ),
      },
      run: async (doing: WithKey, { merchant, keyEncryptionKey }) =>
        keyEncryptionKey ? rewrap(doing) : rotateWithBars(doing, merchant),
      says: (result) => {
        if ('dataKeys' in result)
          return `${result.dataKeys} data keys are wrapped under the current key-encryption key.`;
        const done = `${result.rows} rows of ${result.merchants} merchants are sealed under new keys.`;
        if (result.broken === 0) return done;
        return `${done} ${result.broken} do not open and were left as they are; \`tollgate keys verify\` names them.`;
      },
      fails: (result) => 'broken' in result && result.broken > 0,
    }),
    task({
      name: 'keys move',
      help: 'wrap everything under the key of TOLLGATE_KEY_PROVIDER that TOLLGATE_PREVIOUS_KEY_PROVIDER has wrapped, while the gateway serves',
      role: 'administrator',
      scope: 'installation',
      fresh: true,
      input: {},
      checks: ({ previousKeyEncryption }) => {
        if (previousKeyEncryption === undefined) refuse('previous_key_provider_unset');
      },
      // What is wrapped by both opens meanwhile: it can be interrupted and run again.
      run: async (doing: WithKey) => {
        const { keyEncryption, previousKeyEncryption } = doing.settings;
        return {
          from: previousKeyEncryption?.provider,
          to: keyEncryption.provider,
          ...(await rewrap(doing)),
        };
      },
      says: ({ from, to, dataKeys }) =>
        `${dataKeys} data keys are wrapped by ${to}. Once every process runs with it, unset TOLLGATE_PREVIOUS_KEY_PROVIDER, and destroy the key of ${from} when no backup needs it.`,
    }),
    task({
      name: 'keys verify',
      help: 'open every seal and hold every token against the journal: whether anybody has changed them in the database; ends with 1 where somebody has',
      role: 'operator',
      scope: 'organisation',
      byAccount: true,
      route: 'POST /keys/verify',
      input: { merchant: OF_MERCHANT },
      run: async ({ database, actor, means }: WithKeys, { merchant }) =>
        verifySeals(database, actor, await means.provider(), await means.key(), merchant),
      says: ({ tokens, transactions, webhooks, directDebits, rows, problems }) => {
        const looked = `${tokens} tokens, ${transactions} transactions, ${webhooks} webhooks, ${directDebits} direct debits that wait and ${rows} rows that the journal seals were looked at.`;
        if (problems.length === 0) return `${looked}\nAll of them are as the gateway has left them.`;
        return `${looked}\n${problems.length} are not as the gateway has left them:\n${table(problems)}`;
      },
      fails: ({ problems }) => problems.length > 0,
    }),
    task({
      name: 'keys seal',
      help: 'seal a row as it is, once you have put right what somebody has changed in the database',
      role: 'administrator',
      scope: 'installation',
      fresh: true,
      // Whoever seals a row says that it is right: a link, a bank, what gives rights.
      secondPerson: { for: 'keys' },
      input: {
        subject: needed(TEXT, '<subject>', 'as `keys verify` calls it, such as merchant/17 or acquirer/visa'),
      },
      run: async ({ database, actor, means }: WithKeys, { subject }) =>
        sealAsItIs(database, actor, await means.key(), subject),
      says: ({ subject, isThere }) =>
        isThere ? `${subject} is sealed as it is.` : `It is sealed that ${subject} is gone.`,
    }),
    task({
      name: 'keys destroy',
      help: 'destroy a retired version for good, once nothing is sealed under it',
      role: 'administrator',
      scope: 'organisation',
      route: 'POST /keys/destroy',
      fresh: true,
      secondPerson: { for: 'keys', when: ofLiveMerchant },
      input: {
        merchant: needed(ID, '--merchant <id>', 'the merchant', { names: 'merchants' }),
        version: needed(count(), '--version <version>', 'the version'),
      },
      run: async ({ database, actor, means }: WithKey, { merchant, version }) => {
        await destroyKey(database, actor, await means.provider(), { merchant, version });
        return { merchant, version, destroyed: true };
      },
      says: ({ merchant, version }) => `Version ${version} of merchant ${merchant} is destroyed.`,
    }),
  ],
} as const;

async function rewrap({ database, actor, means }: WithKey): Promise<{ readonly dataKeys: number }> {
  return { dataKeys: await rewrapKeys(database, actor, await means.provider()) };
}
