// The selective part of a reference. References of a merchant often share a prefix ("cust-00…"), and the trigram index reads
// all customers for such a prefix; by the rest alone it finds the same few at once.
import type { Queryable } from '../postgres/database.js';
import type { MerchantId, OrganisationId } from '../values/ids.js';
import { REFERENCES_NEAR } from './customers.sql.js';

/** A prefix of more references than this is not selective. */
const MANY = 1_000;
/** Many references contain a shorter text by chance. */
const LONG_ENOUGH = 6;

/** Undefined if that is the whole reference, or no part is selective. */
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
  // Extends back to a useful length, but not into another word: the boundary between words is the same for all.
  while (text.length - from < LONG_ENOUGH && isOfWord(text.charAt(from - 1))) from -= 1;
  return from === 0 || text.length - from < LONG_ENOUGH ? undefined : text.slice(from);
}

function commonBeginning(one: string, other: string): number {
  let length = 0;
  while (length < one.length && one[length] === other[length]) length += 1;
  return length;
}

const isOfWord = (character: string) => /[a-z\d]/.test(character);
