// One page of a list, and its end, from which the next page continues. Pages do not count rows.

export interface PageEnd {
  /** The value that the list is sorted by. */
  readonly place: string;
  /** Breaks ties. */
  readonly id: number;
}

export interface Page<Item> {
  readonly items: readonly Item[];
  /** Undefined on the last page. */
  readonly end: PageEnd | undefined;
}
