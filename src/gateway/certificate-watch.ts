// The listener's certificate: read at start, and again when its files change or on SIGHUP. An unusable pair never replaces a
// usable one. One process does this for all of its workers.
import { readFile, stat } from 'node:fs/promises';
import type { Logger } from 'pino';
import {
  type Certificate,
  checkedCertificate,
  daysToExpiry,
  isInForce,
  UnusableCertificate,
} from '../http/tls.js';
import { Loop } from './loop.js';
import { type Settings, SettingsError, type TlsSettings } from './settings/settings.js';
import type { Source } from './settings/variables.js';

/** Polling works on any file system and with any way to replace files. File notifications do not. */
const LOOK_EVERY_MS = 1_000;
const ANYBODY_READS = 0o004;

/** At start an unusable certificate stops the gateway. */
export async function readCertificate({ tls }: Settings): Promise<Certificate | undefined> {
  if (tls === undefined) return undefined;
  try {
    return await readPair(tls);
  } catch (error) {
    throw new SettingsError(`TOLLGATE_TLS_CERTIFICATE and TOLLGATE_TLS_KEY: ${reasonOf(error)}`);
  }
}

export interface CertificateWatchParts {
  readonly tls: TlsSettings;
  /** The certificate read at start. */
  readonly certificate: Certificate;
  readonly log: Logger;
}

export class CertificateWatch {
  readonly #parts: CertificateWatchParts;
  readonly #loop: Loop;
  #used: Certificate;
  #use: ((certificate: Certificate) => void) | undefined;
  /** Identifies the files that the current certificate came from. */
  #stamp: string | undefined;
  /** Files that were unusable a moment ago, and files already reported. */
  #doubted: string | undefined;
  #told: string | undefined;
  #toldDays: number | undefined;
  #asked = false;

  constructor(parts: CertificateWatchParts) {
    this.#parts = parts;
    this.#used = parts.certificate;
    this.#loop = new Loop(
      () => this.#look(),
      LOOK_EVERY_MS,
      (error) => this.#notRenewed(reasonOf(error)),
    );
  }

  /** `use` gets each new certificate. */
  start(use: (certificate: Certificate) => void): void {
    this.#use = use;
    this.#sayUsed();
    this.#loop.start();
  }

  /** Looks at once, and logs the result. */
  reload(): void {
    this.#asked = true;
    // Otherwise it looks as soon as it is started.
    if (this.#use !== undefined) this.#loop.wake();
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  async #look(): Promise<void> {
    const asked = this.#asked;
    this.#asked = false;
    // Before the files are read: a change meanwhile is seen the next time.
    const stamp = await stampOf(this.#parts.tls);
    if (asked || stamp !== this.#stamp) await this.#renew(stamp, asked);
    this.#sayExpiry();
  }

  async #renew(stamp: string, asked: boolean): Promise<void> {
    let renewed: Certificate;
    try {
      renewed = await readPair(this.#parts.tls);
      // guard(certificates: one that is not in force does not take the place of one that is): !isInForce(renewed, Date.now()) && isInForce(this.#used, Date.now() ⇒ Number.isNaN(renewed.expiresAtMs
      if (!isInForce(renewed, Date.now()) && isInForce(this.#used, Date.now())) {
        throw new UnusableCertificate('the certificate has expired, or is not valid yet');
      }
    } catch (error) {
      // Two files are not replaced at the same moment: a mismatch now may be gone a second later.
      const settled = asked || this.#doubted === stamp;
      this.#doubted = stamp;
      if (!settled || (this.#told === stamp && !asked)) return;
      this.#told = stamp;
      this.#notRenewed(reasonOf(error));
      return;
    }
    this.#stamp = stamp;
    this.#doubted = undefined;
    this.#told = undefined;
    if (!isSame(renewed, this.#used)) {
      this.#use?.(renewed);
      this.#used = renewed;
      this.#toldDays = undefined;
      this.#sayUsed();
    } else if (asked) this.#sayUsed();
  }

  #sayUsed(): void {
    const { fingerprint, expiresAtMs } = this.#used;
    const { log } = this.#parts;
    log.info(
      { certificate: fingerprint, expires: new Date(expiresAtMs).toISOString() },
      'certificate in use',
    );
    void this.#sayWhoReadsKey();
  }

  #notRenewed(reason: string): void {
    const { log } = this.#parts;
    log.warn({ reason }, 'certificate not renewed: the one in use stays');
  }

  /** Once for each step closer to expiry. */
  #sayExpiry(): void {
    const { log } = this.#parts;
    const days = daysToExpiry(this.#used, Date.now());
    if (days === this.#toldDays) return;
    this.#toldDays = days;
    const expires = new Date(this.#used.expiresAtMs).toISOString();
    if (days === 0) log.error({ expires }, 'certificate expired');
    else if (days !== undefined) log.warn({ expires, within_days: days }, 'certificate expires soon');
  }

  async #sayWhoReadsKey(): Promise<void> {
    const { log, tls } = this.#parts;
    if (!('path' in tls.key) || process.platform === 'win32') return;
    const { mode } = await stat(tls.key.path).catch(() => ({ mode: 0 }));
    if ((mode & ANYBODY_READS) !== 0)
      log.warn({ path: tls.key.path }, 'every user of this machine can read the TLS key');
  }
}

async function readPair({ certificate, key }: TlsSettings): Promise<Certificate> {
  return checkedCertificate({ certificate: await textOf(certificate), key: await textOf(key) });
}

async function textOf(source: Source): Promise<string> {
  if ('text' in source) return source.text;
  try {
    return await readFile(source.path, 'utf8');
  } catch (error) {
    throw new UnusableCertificate(`${source.path} cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
}

/** Changes whenever a file is written, replaced, or reached through another link. */
async function stampOf({ certificate, key }: TlsSettings): Promise<string> {
  const stamps = [certificate, key].map(async (source) => {
    if ('text' in source) return '';
    const found = await stat(source.path).catch((error: NodeJS.ErrnoException) => error);
    return found instanceof Error
      ? String(found.code)
      : [found.dev, found.ino, found.size, found.mtimeMs, found.ctimeMs].join();
  });
  return (await Promise.all(stamps)).join(' ');
}

function isSame({ pair: one }: Certificate, { pair: other }: Certificate): boolean {
  return one.certificate === other.certificate && one.key === other.key;
}

function reasonOf(error: unknown): string {
  return error instanceof UnusableCertificate ? error.message : String((error as { code?: string }).code);
}
