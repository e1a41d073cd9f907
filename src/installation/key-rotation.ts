// The rotation of keys that an operator has begun on the console: it goes on when the page is closed, and says how far it is.
import type { Database } from '../postgres/database.js';
import type { KeyProvider } from '../vault/keys/key-provider.js';
import type { RotationProgress } from '../vault/keys/rotation.js';
import { rotateKeys } from './keys.js';

/** What the page shows. */
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
