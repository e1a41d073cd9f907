// Shares a limited resource fairly among organisations: an organisation that asks for much waits, and the others do not wait for it.
import type { OrganisationId } from './ids.js';

export interface SharesOptions {
  /** How much work may run at once. */
  readonly inAll: number;
  /** How much of that for one organisation. */
  readonly perOrganisation: number;
  /** Refuses work when too much of its organisation waits, or when it has waited too long. Without this option all work waits. */
  readonly patience?: Patience;
}

export interface Patience {
  readonly maxWaiting: number;
  readonly maxWaitMs: number;
  readonly refusal: () => unknown;
}

interface Waiting {
  readonly sinceMs: number;
  readonly begin: () => void;
  readonly refuse: (error: unknown) => void;
}

export class Shares {
  #underWay = 0;
  readonly #underWayOf = new Map<OrganisationId, number>();
  /** In the order of their turns. No queue is empty. */
  readonly #waiting = new Map<OrganisationId, Waiting[]>();

  constructor(private readonly options: SharesOptions) {}

  async run<Result>(organisationId: OrganisationId, work: () => Promise<Result>): Promise<Result> {
    if (this.#hasRoom(organisationId)) this.#begin(organisationId);
    else await this.#wait(organisationId);
    try {
      return await work();
    } finally {
      this.#end(organisationId);
    }
  }

  #hasRoom(organisationId: OrganisationId): boolean {
    const { inAll, perOrganisation } = this.options;
    return this.#underWay < inAll && (this.#underWayOf.get(organisationId) ?? 0) < perOrganisation;
  }

  #begin(organisationId: OrganisationId): void {
    this.#underWay += 1;
    this.#underWayOf.set(organisationId, (this.#underWayOf.get(organisationId) ?? 0) + 1);
  }

  #wait(organisationId: OrganisationId): Promise<void> {
    const { patience } = this.options;
    const queue = this.#waiting.get(organisationId) ?? [];
    if (patience !== undefined && queue.length >= patience.maxWaiting) throw patience.refusal();
    this.#waiting.set(organisationId, queue);
    return new Promise((begin, refuse) => {
      queue.push({ sinceMs: performance.now(), begin, refuse });
    });
  }

  #end(organisationId: OrganisationId): void {
    this.#underWay -= 1;
    const left = (this.#underWayOf.get(organisationId) ?? 0) - 1;
    if (left > 0) this.#underWayOf.set(organisationId, left);
    else this.#underWayOf.delete(organisationId);
    for (const [next, queue] of this.#waiting) {
      if (!this.#hasRoom(next)) continue;
      // Moves the organisation behind the others.
      this.#waiting.delete(next);
      const first = this.#firstInTime(queue);
      if (queue.length > 0) this.#waiting.set(next, queue);
      if (first === undefined) continue;
      this.#begin(next);
      first.begin();
      return;
    }
  }

  #firstInTime(queue: Waiting[]): Waiting | undefined {
    const { patience } = this.options;
    for (;;) {
      const first = queue.shift();
      if (first === undefined || patience === undefined) return first;
      if (performance.now() - first.sinceMs <= patience.maxWaitMs) return first;
      first.refuse(patience.refusal());
    }
  }
}
