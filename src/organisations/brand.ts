// How a merchant looks to payers: what it is called on their pages, its colour and its logo.
import { type JournalEntry, journal } from '../journal/journal.js';
import { checkSeal, fitNow, type ReadRow } from '../journal/seals.js';
import type { Queryable } from '../postgres/database.js';
import { containsCardNumber } from '../values/card.js';
import { isColour, readableOn } from '../values/colour.js';
import type { MerchantId, OrganisationId } from '../values/ids.js';
import { refuse } from '../values/refusal.js';
import { FIND_BRAND, FIND_LOGO, PUT_BRAND, REMOVE_BRAND } from './brand.sql.js';
import { faultOfLogo, type LogoType, typeOfLogo } from './logo.js';
import { LOCK_MERCHANT } from './sealed-merchant.sql.js';

export interface Brand {
  /** What payers read instead of its name. */
  readonly displayName: string | null;
  /** Of buttons and links, as `#rrggbb`. */
  readonly colour: string | null;
  /** SHA-256 of its logo, as hexadecimal. */
  readonly logoDigest: string | null;
}

export interface BrandRow extends Brand {
  readonly organisationId: OrganisationId;
  readonly merchant: MerchantId;
  readonly isSet: boolean;
  readonly logoBytes: number | null;
  /** Of the journal, behind its version. */
  readonly newest: Buffer | null;
}

/** What is undefined stays, what is null is taken away. */
export interface BrandChange {
  readonly displayName?: string | null | undefined;
  readonly colour?: string | null | undefined;
  readonly logo?: Buffer | null | undefined;
}

const NO_BRAND: Brand = { displayName: null, colour: null, logoDigest: null };
const LONGEST_NAME = 60;
/** What payers' pages are written on, as in checkout/page.css. */
export const PAGE_GROUNDS = { light: '#ffffff', dark: '#16191d' } as const;

export function rowOfBrand(row: BrandRow): ReadRow {
  const { organisationId, merchant, isSet, displayName, colour, logoDigest, newest } = row;
  // guard(directions: a brand is sealed with its name and its logo): displayName, colour, logoDigest] ⇒ colour]
  const state = isSet ? [organisationId, displayName, colour, logoDigest] : null;
  return { subject: `brand/${merchant}`, state, newest };
}

/** For a payer. One that somebody has changed in the database is not shown: the page then has the merchant's own name alone. */
export async function brandOf(database: Queryable, merchant: MerchantId): Promise<Brand> {
  const row = await findBrand(database, merchant);
  const fit = await fitNow(database, rowOfBrand(row));
  // guard(checkout: no brand is shown that is not as it was sealed): fit.kind === 'misfit' ⇒ fit.version < 0
  return fit.kind === 'misfit' ? NO_BRAND : row;
}

export interface Logo {
  readonly type: LogoType;
  readonly content: Buffer;
}

/** Undefined where there is none, or one that is not as it was sealed. */
export async function logoOf(database: Queryable, merchant: MerchantId): Promise<Logo | undefined> {
  const { rows } = await database.query<BrandRow & { readonly logo: Buffer | null }>(FIND_LOGO, [merchant]);
  const [row] = rows;
  if (row === undefined || row.logo === null) return undefined;
  const fit = await fitNow(database, rowOfBrand(row));
  // guard(checkout: no logo is served that is not as it was sealed): fit.kind === 'misfit' ⇒ fit.version < 0
  return fit.kind === 'misfit' ? undefined : { type: typeOfLogo(row.logo), content: row.logo };
}

export async function findBrand(database: Queryable, merchant: number): Promise<BrandRow> {
  const { rows } = await database.query<BrandRow>(FIND_BRAND, [merchant]);
  return rows[0] ?? refuse('merchant_not_found', { merchant });
}

export async function setBrand(
  database: Queryable,
  actor: string,
  merchant: number,
  change: BrandChange,
): Promise<void> {
  checkBrand(change);
  await database.transaction(async (connection) => {
    await connection.query(LOCK_MERCHANT, [merchant]);
    const before = await findBrand(connection, merchant);
    await checkSeal(connection, rowOfBrand(before));
    const { displayName = before.displayName, logo } = change;
    const colour = change.colour === undefined ? before.colour : (change.colour?.toLowerCase() ?? null);
    const isLogoLeft = logo === undefined ? before.logoDigest !== null : logo !== null;
    if (displayName === null && colour === null && !isLogoLeft)
      await connection.query(REMOVE_BRAND, [merchant]);
    else await connection.query(PUT_BRAND, [merchant, displayName, colour, logo !== undefined, logo ?? null]);
    const after = await findBrand(connection, merchant);
    const entry: JournalEntry = {
      actor,
      action: 'merchant.brand_changed',
      organisationId: after.organisationId,
      merchantId: after.merchant,
      detail: inWords(after),
    };
    await journal(connection, entry, rowOfBrand(after));
  });
}

/** The colour on payers' pages: text and buttons of it can be read on theirs. */
export function coloursOnPages(colour: string): { readonly light: string; readonly dark: string } {
  return { light: readableOn(PAGE_GROUNDS.light, colour), dark: readableOn(PAGE_GROUNDS.dark, colour) };
}

function inWords({ displayName, colour, logoDigest, logoBytes }: BrandRow): string {
  const parts = [
    ...(displayName === null ? [] : [`shown as ${displayName}`]),
    ...(colour === null ? [] : [colour]),
    ...(logoDigest === null ? [] : [`logo of ${logoBytes} bytes, SHA-256 ${logoDigest}`]),
  ];
  return parts.length === 0 ? 'none' : parts.join(', ');
}

function checkBrand({ displayName, colour, logo }: BrandChange): void {
  const problems: { field: string; rule: string }[] = [];
  if (typeof displayName === 'string' && !isDisplayName(displayName))
    problems.push({
      field: 'displayName',
      rule: `takes 1 to ${LONGEST_NAME} characters on one line, and no card number`,
    });
  if (typeof colour === 'string' && !isColour(colour.toLowerCase()))
    problems.push({ field: 'colour', rule: 'must be written like #0b5cad' });
  const fault = logo ? faultOfLogo(logo) : undefined;
  if (fault !== undefined) problems.push({ field: 'logo', rule: fault });
  if (problems.length > 0) refuse('brand_not_allowed', { problems });
}

/** In any language. Characters that turn the direction of what follows them would change how the rest of the page reads. */
function isDisplayName(name: string): boolean {
  return (
    name.length >= 1 &&
    name.length <= LONGEST_NAME &&
    name.trim() === name &&
    !/[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]/u.test(name) &&
    !containsCardNumber(name)
  );
}
