// A condition for background work, which concerns many organisations at once.
/**
 * For background work that changes rows of many organisations: leaves those alone that have moved to another cell, or are on their way. A
 * statement that touched a row of one would fail for all.
 */
export const isNotElsewhere = (organisation: string) =>
  `${organisation} <> ALL ((SELECT organisations_elsewhere())::integer[])`;
