// A void, refund or completion that an operator sends. Its key is made when the form opens and survives a reload: sending it again
// repeats the same request.

export interface MoneyAction {
  readonly key: string;
  /** The form when it was sent. Absent: not sent yet. */
  readonly sent?: { readonly amount: string; readonly reason: string };
}

export class MoneyActionStore {
  readonly #place: string;

  constructor(organisation: number | string, audit: number | string, action: string) {
    this.#place = `tollgate-money-action-${organisation}-${audit}-${action}`;
  }

  /** An earlier one that was sent and got no answer. */
  unanswered(): MoneyAction | undefined {
    const moneyAction = this.#stored();
    return moneyAction?.sent === undefined ? undefined : moneyAction;
  }

  begin(): MoneyAction {
    return this.unanswered() ?? this.#keep({ key: crypto.randomUUID() });
  }

  sending(moneyAction: MoneyAction, sent: { readonly amount: string; readonly reason: string }): MoneyAction {
    return this.#keep({ ...moneyAction, sent });
  }

  /** Answered, or discarded. */
  end(): void {
    sessionStorage.removeItem(this.#place);
  }

  #stored(): MoneyAction | undefined {
    try {
      return JSON.parse(sessionStorage.getItem(this.#place) ?? 'null') ?? undefined;
    } catch {
      return undefined;
    }
  }

  #keep(moneyAction: MoneyAction): MoneyAction {
    sessionStorage.setItem(this.#place, JSON.stringify(moneyAction));
    return moneyAction;
  }
}
