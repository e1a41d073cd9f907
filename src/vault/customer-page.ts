// The statements for pages of customers: one for each ordering and set of filters, so that each has its own plan.
import type { Statement } from '../postgres/database.js';
import {
  CUSTOMERS_FOUND,
  FOUND,
  PLACES_BY_ID,
  PLACES_BY_NAME,
  PLACES_BY_REFERENCE,
} from './customers.sql.js';

export type Ordering = 'name' | 'reference' | 'customer_id';

interface Order {
  readonly places: string;
  readonly by: string;
  readonly after: string;
}

// Ties are ordered by ID, so that the order is always the same. A page continues after a given customer, found by index and not
// by counting.
const ORDERS: Readonly<Record<Ordering, Order>> = {
  name: { places: PLACES_BY_NAME, by: 'name_key, id', after: '(name_key, id) > ($7, $8)' },
  reference: {
    places: PLACES_BY_REFERENCE,
    by: 'reference_key, id',
    after: '(reference_key, id) > ($7, $8)',
  },
  customer_id: { places: PLACES_BY_ID, by: 'id', after: `$7 = '' AND id > $8` },
};

/**
 * Every page is planned at full length. PostgreSQL estimates that an unknown text matches one in ten thousand rows; for a
 * shorter page it would rather walk all customers in order than use the trigram index.
 */
const PLANNED_FOR = 101;

const pages = new Map<string, Statement>();

/** By the whole reference, or by a selective part while the whole (`$9`) decides. */
export type ByReference = boolean | 'part';

export function customerPage(
  ordering: Ordering,
  goesOn: boolean,
  byName: boolean,
  byReference: ByReference,
): Statement {
  const name = `customers-${ordering}-${goesOn}-${byName}-${byReference}`;
  const known = pages.get(name) ?? { name, text: page(ORDERS[ordering], goesOn, byName, byReference) };
  pages.set(name, known);
  return known;
}

function page(
  { places, by, after }: Order,
  goesOn: boolean,
  byName: boolean,
  byReference: ByReference,
): string {
  const conditions = [
    // Unused parameters still need a type.
    byName ? 'name_key LIKE $3' : '$3::text IS NULL',
    byReference ? 'reference_key LIKE $4' : '$4::text IS NULL',
    // An expression, or the trigram index would be searched for the whole reference as well.
    byReference === 'part' ? `reference_key || '' LIKE $9` : '$9::text IS NULL',
    goesOn ? after : '$7::text IS NULL AND $8::integer IS NULL',
  ];
  const limits = `LIMIT greatest($5, ${PLANNED_FOR}) OFFSET $6`;
  return `${FOUND}${places} AND ${conditions.join(' AND ')} ORDER BY ${by} ${limits}${CUSTOMERS_FOUND}`;
}
