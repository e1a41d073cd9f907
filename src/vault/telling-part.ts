// The part of a reference that tells it from others. References of a merchant often begin alike ("cust-00…"), and an index of parts has to
// go through all customers for each such beginning; by the rest alone it finds the same few at once.
import type { Queryable } from '../postgres/database.js';
import type { MerchantId, OrganisationId } from '../values/ids.js';
import { REFERENCES_NEAR } from './customers.sql.js';

/** A beginning that more than so many references have tells little. */
const MANY = 1_000;
/** What is shorter than this is in the references of many, by chance alone. */
const LONG_ENOUGH = 6;

/** Undefined where it is all of it, or where nothing of it does. */
export async function tellingPart(
  searches: Queryable,
  vault: { readonly organisationId: OrganisationId; readonly merchantId: MerchantId },
  reference: string,
): Promise<string | undefined> {
  if (reference.length <= LONG_ENOUGH) return undefined;
  const text = reference.toLowerCase();
  const values = [vault.organisationId, vault.merchantId, text, MANY];
  const { rows } = await searches.query<{ reference: string }>(REFERENCES_NEAR, values);
  let from = Math.max(0, ...rows.map((near) => commonBeginning(text, near.reference)));
  // Back to where it is long enough, but not to another word: how that ends, and where this one begins, is the same for all.
  while (text.length - from < LONG_ENOUGH && isOfWord(text.charAt(from - 1))) from -= 1;
  return from === 0 || text.length - from < LONG_ENOUGH ? undefined : text.slice(from);
}

function commonBeginning(one: string, other: string): number {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length += 1;
  return length;
}

const isOfWord = (character: string) => /[a-z\d]/.test(character);
