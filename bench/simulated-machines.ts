// Time that passes only where something happens, and what takes it: machines with cores, and threads that have at most one of them.

/** Everything that happens, in order. Equal times keep the order in which they were asked for. */
export class Time {
  nowUs = 0;
  #order = 0;
  readonly #heap: { readonly at: number; readonly order: number; readonly then: () => void }[] = [];

  after(us: number, then: () => void): void {
    const heap = this.#heap;
    heap.push({ at: this.nowUs + us, order: this.#order++, then });
    for (let child = heap.length - 1; child > 0; ) {
      const parent = (child - 1) >> 1;
      if (!this.#isBefore(child, parent)) break;
      this.#swap(child, parent);
      child = parent;
    }
  }

  runUntil(endUs: number): void {
    const heap = this.#heap;
    for (let next = heap[0]; next !== undefined && next.at <= endUs; next = heap[0]) {
      const last = heap.pop() as (typeof heap)[number];
      if (heap.length > 0) {
        heap[0] = last;
        this.#sink();
      }
      this.nowUs = next.at;
      next.then();
    }
  }

  #sink(): void {
    for (let parent = 0; ; ) {
      let least = parent;
      for (const child of [2 * parent + 1, 2 * parent + 2]) {
        if (child < this.#heap.length && this.#isBefore(child, least)) least = child;
      }
      if (least === parent) return;
      this.#swap(parent, least);
      parent = least;
    }
  }

  #isBefore(one: number, other: number): boolean {
    const [a, b] = [this.#heap[one], this.#heap[other]];
    if (a === undefined || b === undefined) return false;
    return a.at === b.at ? a.order < b.order : a.at < b.at;
  }

  #swap(one: number, other: number): void {
    const kept = this.#heap[one];
    this.#heap[one] = this.#heap[other] as typeof kept & {};
    this.#heap[other] = kept as typeof kept & {};
  }
}

/** Who waits gets the next core that is free. */
export class Machine {
  busyUs = 0;
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(
    readonly time: Time,
    readonly cores: number,
  ) {
    this.#free = cores;
  }

  work(us: number, then: () => void): void {
    const begin = () => {
      this.#free -= 1;
      this.time.after(us, () => {
        this.busyUs += us;
        this.#free += 1;
        then();
        if (this.#free > 0) this.#waiting.shift()?.();
      });
    };
    if (this.#free > 0) begin();
    else this.#waiting.push(begin);
  }
}

/** One thing after the other, whatever cores there are. */
export class Thread {
  #isBusy = false;
  readonly #waiting: (() => void)[] = [];

  constructor(readonly machine: Machine) {}

  work(us: number, then: () => void): void {
    const begin = () => {
      this.#isBusy = true;
      this.machine.work(us, () => {
        this.#isBusy = false;
        then();
        if (!this.#isBusy) this.#waiting.shift()?.();
      });
    };
    if (this.#isBusy) this.#waiting.push(begin);
    else begin();
  }
}
