// A deed that moves money, known by a key of its own: the key is made when the form opens and outlives a reload, so that sending it again
// repeats the same deed and is never a second one.

export interface Deed {
  readonly key: string;
  /** As it stood in the form when it was sent; undefined as long as it was not. */
  readonly sent?: { readonly amount: string; readonly reason: string };
}

export class DeedKeeper {
  readonly #place: string;

  constructor(organisation: number | string, audit: number | string, action: string) {
    this.#place = `tollgate-deed-${organisation}-${audit}-${action}`;
  }

  /** The one that was begun here before, if it was sent and nobody knows what came of it. */
  unanswered(): Deed | undefined {
    const deed = this.#stored();
    return deed?.sent === undefined ? undefined : deed;
  }

  begin(): Deed {
    return this.unanswered() ?? this.#keep({ key: crypto.randomUUID() });
  }

  sending(deed: Deed, sent: { readonly amount: string; readonly reason: string }): Deed {
    return this.#keep({ ...deed, sent });
  }

  /** It was answered, or is not wanted any more. */
  end(): void {
    sessionStorage.removeItem(this.#place);
  }

  #stored(): Deed | undefined {
    try {
      return JSON.parse(sessionStorage.getItem(this.#place) ?? 'null') ?? undefined;
    } catch {
      return undefined;
    }
  }

  #keep(deed: Deed): Deed {
    sessionStorage.setItem(this.#place, JSON.stringify(deed));
    return deed;
  }
}
