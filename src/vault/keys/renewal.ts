// Renews data keys that are due for a new version, in the background and without slowing payments. Any number of processes may
// run it.
import type { Database } from '../../postgres/database.js';
import type { MerchantId } from '../../values/ids.js';
import type { DataKeyRow } from './keys.js';
import { KEYS_TO_RENEW } from './renewal.sql.js';
import type { Rotation } from './rotation.js';
import type { SealOwner } from './sealed-rows.js';

/** Why a key is due: it is too old, it has sealed too much, or a rotation was interrupted. */
export type DueBecause = 'age' | 'seals' | 'unfinished';

/** How long a data key seals. */
export interface KeyLimits {
  readonly days: number;
  readonly seals: number;
}

/** A quarter of the seals that NIST allows with random nonces (SP 800-38D: 2 to the power of 32). */
export const DEFAULT_KEY_LIMITS: KeyLimits = { days: 365, seals: 1_000_000_000 };

interface DueKey extends SealOwner {
  readonly version: number;
  readonly because: DueBecause;
}

export interface RenewalParts {
  readonly database: Database;
  readonly rotation: Rotation;
  readonly limits: KeyLimits;
  readonly onRenewed: (
    merchantId: MerchantId,
    renewed: { because: DueBecause; rows: number; broken: number },
  ) => void;
}

export class KeyRenewal {
  #stopped = false;

  constructor(private readonly parts: RenewalParts) {}

  async run(): Promise<void> {
    try {
      await this.#renew();
    } catch (error) {
      if (!(error instanceof RenewalStopped)) throw error;
    }
  }

  async #renew(): Promise<void> {
    const { database, rotation, limits, onRenewed } = this.parts;
    const { rows } = await database.query<DueKey>(KEYS_TO_RENEW, [limits.days, limits.seals]);
    for (const { because, version, ...owner } of rows) {
      this.#checkStopped();
      // A second process finds the newer key, and helps to seal under it.
      // guard(renewal of keys: whoever comes second makes no further version): because !== 'unfinished' && newest.version == ⇒ newest.version >
      const isDue = (newest: DataKeyRow) => because !== 'unfinished' && newest.version === version;
      const { rows: sealed, broken } = await rotation.rotateOne(owner, isDue, () => this.#checkStopped());
      onRenewed(owner.merchantId, { because, rows: sealed, broken });
    }
  }

  /** A rotation under way stops after its batch, and resumes when a process runs again. */
  stop(): void {
    this.#stopped = true;
  }

  #checkStopped(): void {
    if (this.#stopped) throw new RenewalStopped();
  }
}

class RenewalStopped extends Error {
  override readonly name = 'RenewalStopped';
}
