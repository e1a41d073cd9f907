// The lodgement reference: what stands on the customer's statement, and finds the transaction again when its item
// comes back. Eighteen characters, all that a file has room for: the installation, the organisation and the audit.
import type { Audit, OrganisationId } from '../../values/ids.js';

const RADIX = 36;
/** Six digits to the base of 36 hold every number of 31 bits. */
const WIDTH = 6;

export interface Lodged {
  readonly installation: string;
  readonly organisationId: OrganisationId;
  readonly audit: Audit;
}

export function lodgementReference({ installation, organisationId, audit }: Lodged): string {
  return installation + coded(organisationId) + coded(audit);
}

export function parseLodgementReference(text: string): Lodged | undefined {
  const [, installation, organisation, audit] =
    /^([0-9A-Z]{6})([0-9A-Z]{6})([0-9A-Z]{6})$/.exec(text.trim()) ?? [];
  if (installation === undefined || organisation === undefined || audit === undefined) return undefined;
  const lodged = {
    installation,
    organisationId: decoded(organisation) as OrganisationId,
    audit: decoded(audit) as Audit,
  };
  return fits(lodged.organisationId) && fits(lodged.audit) ? lodged : undefined;
}

function coded(number: number): string {
  return number.toString(RADIX).toUpperCase().padStart(WIDTH, '0');
}

function decoded(text: string): number {
  return Number.parseInt(text, RADIX);
}

function fits(number: number): boolean {
  return number >= 1 && number <= 2_147_483_647;
}
