// How many webhooks are under way at once, in all and for each organisation. Who waits is let in in turns over organisations, so
// that one with many slow receivers waits for itself.
import type { OrganisationId } from '../values/ids.js';

export interface SharesOptions {
  readonly inAll: number;
  readonly perOrganisation: number;
}

export class Shares {
  #underWay = 0;
  readonly #underWayOf = new Map<OrganisationId, number>();
  /** In the order in which they have their turns. None is empty. */
  readonly #waiting = new Map<OrganisationId, (() => void)[]>();

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
    const line = this.#waiting.get(organisationId) ?? [];
    this.#waiting.set(organisationId, line);
    return new Promise((begin) => {
      line.push(begin);
    });
  }

  #end(organisationId: OrganisationId): void {
    this.#underWay -= 1;
    const left = (this.#underWayOf.get(organisationId) ?? 0) - 1;
    if (left > 0) this.#underWayOf.set(organisationId, left);
    else this.#underWayOf.delete(organisationId);
    for (const [next, line] of this.#waiting) {
      if (!this.#hasRoom(next)) continue;
      // Behind the others for its next turn.
      this.#waiting.delete(next);
      const begin = line.shift();
      if (line.length > 0) this.#waiting.set(next, line);
      if (begin === undefined) continue;
      this.#begin(next);
      begin();
      return;
    }
  }
}
