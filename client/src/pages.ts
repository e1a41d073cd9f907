// Lists that come in pages, as one sequence or page by page.

export interface Page<Item> {
  readonly results: readonly Item[];
  /** Where the next page begins: pass it as `after`. Undefined at the end. */
  readonly next: string | undefined;
}

/** `for await (const item of list)`, or `for await (const page of list.pages())`. Each loop begins at the beginning. */
export class Pages<Item> implements AsyncIterable<Item> {
  constructor(private readonly fetchPage: (after: string | undefined) => Promise<Page<Item> | undefined>) {}

  async *pages(): AsyncGenerator<Page<Item>, void, undefined> {
    let after: string | undefined;
    for (;;) {
      const page = await this.fetchPage(after);
      if (page === undefined) return;
      yield page;
      if (page.next === undefined) return;
      after = page.next;
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    for await (const { results } of this.pages()) yield* results;
  }
}

/** The cursor in a link to the next page. Only that is taken from the link: it cannot lead a client, and its secret, elsewhere. */
export function cursorIn(next: { readonly href: string } | undefined): string | undefined {
  if (next === undefined) return undefined;
  const after = new URL(next.href, 'http://gateway').searchParams.get('after');
  if (after === null) throw new TypeError('the link to the next page has no cursor');
  return after;
}
