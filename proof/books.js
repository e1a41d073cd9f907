// Holds the gateway's books against the acquirer's: what each says was charged or is held, by the reference that was sent.

const APPROVALS = new Set(['00', '08', '10', '11', '16', '77']);

/** The operations that the acquirer approved and has not reversed. */
export function standingEntries(entries) {
  const reversed = new Set(
    entries.filter(({ operation }) => operation === 'reversal').map(({ reference }) => reference),
  );
  return entries.filter(
    ({ operation, responseCode, reference }) =>
      operation !== 'reversal' && APPROVALS.has(responseCode) && !reversed.has(reference),
  );
}

/** Cents charged (refunds negative) or held, by reference; what comes to nothing is left out. */
export function positionsOfLedger(entries) {
  const standing = standingEntries(entries);
  const targetsOf = (list, kind) =>
    new Set(list.filter(({ operation }) => operation === kind).map((entry) => entry.targetReference));
  const voided = targetsOf(standing, 'void');
  const effective = standing.filter(({ reference }) => !voided.has(reference));
  const completed = targetsOf(effective, 'completion');
  return new Map(
    effective
      .filter(({ operation, reference }) => operation !== 'void' && !completed.has(reference))
      .map(({ reference, operation, amountCents }) => [reference, position(operation, amountCents)]),
  );
}

/** The same of the gateway's rows. */
export function positionsOfTransactions(rows) {
  return new Map(
    rows
      .filter(({ status, type, completedBy }) => status === 'approved' && type !== 'void' && !completedBy)
      .map(({ acquirerReference, type, amountCents }) => [acquirerReference, position(type, amountCents)]),
  );
}

function position(operation, amountCents) {
  switch (operation) {
    case 'purchase':
    case 'completion':
      return `${amountCents} charged`;
    case 'refund':
    case 'standalone_refund':
      return `${-amountCents} charged`;
    case 'preauthorisation':
      return `${amountCents} held`;
    default:
      throw new Error(`no position is known for ${operation}`);
  }
}

/** Where the two disagree, in words. */
export function differences(rows, entries) {
  const ours = positionsOfTransactions(rows);
  const theirs = positionsOfLedger(entries);
  return [...new Set([...ours.keys(), ...theirs.keys()])]
    .filter((reference) => ours.get(reference) !== theirs.get(reference))
    .map(
      (reference) =>
        `${reference}: the gateway says ${ours.get(reference) ?? 'nothing'}, the acquirer says ${theirs.get(reference) ?? 'nothing'}`,
    );
}

/** References under which the acquirer was asked more than once. */
export function askedAgain(entries) {
  const seen = new Set();
  return entries
    .filter(({ operation }) => operation !== 'reversal')
    .map(({ reference }) => reference)
    .filter((reference) => seen.size === seen.add(reference).size);
}

/** Targets whose reservations are not the sum of the operations that hold them. */
export function wrongReservations(rows) {
  const byTarget = new Map();
  for (const row of rows) {
    const isLive = row.status === 'approved' || row.status === 'unknown';
    if (row.targetAudit === null || !isLive) continue;
    byTarget.set(row.targetAudit, [...(byTarget.get(row.targetAudit) ?? []), row]);
  }
  return rows.flatMap((row) => {
    const holders = byTarget.get(row.audit) ?? [];
    const of = (kind) => holders.filter(({ type }) => type === kind);
    const cents = (kind) => of(kind).reduce((sum, { amountCents }) => sum + amountCents, 0);
    const audits = (kind) => of(kind).map(({ audit }) => audit);
    const reserved = [row.refundedCents, row.completedCents, row.completedBy ?? [], row.voidedBy ?? []];
    const held = [cents('refund'), cents('completion'), audits('completion'), audits('void')];
    return reserved.join() === held.join()
      ? []
      : [`audit ${row.audit}: reserved ${reserved.join(' / ')}, held ${held.join(' / ')}`];
  });
}
