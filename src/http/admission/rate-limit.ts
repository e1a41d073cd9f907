// How many requests a user may send: a bucket per user that fills at a steady rate. Off by default.

interface Bucket {
  left: number;
  filledAtMs: number;
}

const MAX_BUCKETS = 10_000;

export class RateLimit {
  readonly #buckets = new Map<string, Bucket>();

  /** 0 means no limit. Up to a second's worth may come at once. */
  constructor(private readonly perSecond: number) {}

  allows(username: string): boolean {
    if (this.perSecond === 0) return true;
    const now = performance.now();
    let bucket = this.#buckets.get(username);
    if (bucket === undefined) {
      if (this.#buckets.size >= MAX_BUCKETS) this.#buckets.clear();
      bucket = { left: this.perSecond, filledAtMs: now };
      this.#buckets.set(username, bucket);
    }
    const filled = bucket.left + ((now - bucket.filledAtMs) / 1000) * this.perSecond;
    bucket.left = Math.min(filled, this.perSecond);
    bucket.filledAtMs = now;
    if (bucket.left < 1) return false;
    bucket.left -= 1;
    return true;
  }
}
