// Under which numbers the host of an ISO 8583 link knows the gateway's transactions, read from what the gateway has stored: the books of
// both sides are joined by them, and none of them may have been used twice.
import type { Installation, InstalledDatabase } from '../../testkit/installation.js';

interface SentRow {
  readonly audit: number;
  readonly targetAudit: number | null;
  readonly prepared: {
    readonly stan: number;
    readonly retrievalReference: string;
    readonly terminal: string;
    readonly sentMs: number;
  };
}

interface ReversalRow {
  readonly audit: number;
  readonly stan: number;
  readonly begunMs: number;
}

const SENT = `
  SELECT audit, target_audit AS "targetAudit", prepared FROM transaction
  WHERE prepared IS NOT NULL AND organisation_id = 1 ORDER BY audit`;

const REVERSALS = `
  SELECT t.audit, r.stan, extract(epoch FROM r.begun_at)::float8 * 1000 AS "begunMs"
  FROM acquirer_reversal r, gateway g, transaction t
  WHERE r.stan IS NOT NULL AND t.organisation_id = r.organisation_id AND r.reference = g.installation || '-' || t.organisation_id || '-' || t.audit`;

export class SentNumbers {
  readonly #byAudit: ReadonlyMap<number, SentRow>;
  readonly #byKey: ReadonlyMap<string, SentRow>;

  private constructor(
    private readonly sent: readonly SentRow[],
    private readonly reversals: readonly ReversalRow[],
  ) {
    this.#byAudit = new Map(sent.map((row) => [row.audit, row]));
    this.#byKey = new Map(sent.map((row) => [keyOf(row), row]));
  }

  static async read(installation: Installation<InstalledDatabase>): Promise<SentNumbers> {
    const [sent, reversals] = await Promise.all([
      installation.sql<SentRow>(SENT),
      installation.sql<ReversalRow>(REVERSALS),
    ]);
    return new SentNumbers(sent, reversals);
  }

  /** As the host knows it: terminal, day and STAN. */
  keyOf(audit: number): string | undefined {
    const row = this.#byAudit.get(audit);
    return row && keyOf(row);
  }

  auditOf(key: string): number | undefined {
    return this.#byKey.get(key)?.audit;
  }

  /** STANs, over a terminal and a day, and retrieval references, over a terminal. */
  usedTwice(): string[] {
    const stans = [
      ...this.sent.map((row) => ({ number: keyOf(row), user: `audit ${row.audit}` })),
      ...this.reversals.map(({ audit, stan, begunMs }) => ({
        number: keyOf({ prepared: { terminal: this.#terminalOf(audit), stan, sentMs: begunMs } }),
        user: `the reversal of audit ${audit}`,
      })),
    ];
    // What follows a payment goes under the reference of that payment.
    const references = this.sent
      .filter(({ targetAudit }) => targetAudit === null)
      .map(({ audit, prepared: { terminal, retrievalReference } }) => ({
        number: `${terminal}, retrieval reference ${retrievalReference}`,
        user: `audit ${audit}`,
      }));
    return [...repeated(stans), ...repeated(references)];
  }

  /** Where the host knows something under another retrieval reference than the gateway, or what the gateway has never sent. */
  differentReferences(host: ReadonlyMap<string, string>): string[] {
    return [...host].flatMap(([key, theirs]) => {
      const row = this.#byKey.get(key);
      if (row === undefined) return [`the host has ${key}, which no transaction was sent under`];
      const ours = row.prepared.retrievalReference;
      const target = row.targetAudit === null ? row : this.#byAudit.get(row.targetAudit);
      const original = target?.prepared.retrievalReference;
      if (ours === theirs && ours === original) return [];
      return [`${key}: ${ours} here, ${theirs} there, ${original} of what it goes back to`];
    });
  }

  #terminalOf(audit: number): string {
    return this.#byAudit.get(audit)?.prepared.terminal ?? `the terminal of audit ${audit}`;
  }
}

function keyOf({
  prepared,
}: {
  readonly prepared: Pick<SentRow['prepared'], 'terminal' | 'stan' | 'sentMs'>;
}): string {
  const { stan, terminal, sentMs } = prepared;
  const day = new Date(sentMs).toISOString().slice(5, 10).replace('-', '');
  return `${terminal}/${day}/${String(stan).padStart(6, '0')}`;
}

function repeated(all: readonly { readonly number: string; readonly user: string }[]): string[] {
  const users = new Map<string, string>();
  return all.flatMap(({ number, user }) => {
    const before = users.get(number);
    users.set(number, user);
    return before === undefined ? [] : [`${number}: ${before} and ${user}`];
  });
}
