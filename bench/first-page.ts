// One page of a list, for those who measure what a page takes.
import type { Page, Pages } from '../client/src/index.js';

export async function firstPage<Item>(list: Pages<Item>): Promise<Page<Item>> {
  for await (const page of list.pages()) return page;
  throw new Error('a list without a page');
}
