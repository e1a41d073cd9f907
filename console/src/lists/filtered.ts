// Links from a number on the page to the list of what it counts.

export type Filter = Readonly<Record<string, string | number | boolean | null | undefined>>;

export function searchOf(filter: object): string {
  const given = Object.entries(filter as Filter).filter(
    ([, value]) => value !== undefined && value !== null && value !== '',
  );
  return new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
}

export function transactionsAt(filter: object): string {
  return `/transactions?${searchOf(filter)}`;
}

export function transactionAt({
  organisation,
  audit,
}: {
  readonly organisation: number;
  readonly audit: number;
}): string {
  return `/transactions/${organisation}/${audit}`;
}
