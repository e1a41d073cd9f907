// A page of a list, and where it ended, so that the next one goes on from there and not by counting.

export interface PageEnd {
  /** What the list is in the order of. */
  readonly place: string;
  /** Tells apart what has the same place. */
  readonly id: number;
}

export interface Page<Item> {
  readonly items: readonly Item[];
  /** Undefined on the last page. */
  readonly end: PageEnd | undefined;
}
