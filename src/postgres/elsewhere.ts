// Organisations that are in another cell, or on their way.

/**
 * For background work that changes rows of many organisations: leaves those alone that are elsewhere. A
 * statement that touched a row of one would fail for all.
 */
export const isNotElsewhere = (organisation: string) =>
  `${organisation} <> ALL ((SELECT organisations_elsewhere())::integer[])`;
