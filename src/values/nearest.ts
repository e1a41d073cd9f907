// Suggests the known word nearest to a misspelt one, counting letters left out, added, changed or swapped.

/** Undefined if no word is near enough. */
export function nearest(given: string, known: Iterable<string>): string | undefined {
  let best: string | undefined;
  let bestDistance = Math.max(1, Math.floor(given.length * 0.4)) + 1;
  for (const word of known) {
    const distance = distanceOf(given, word);
    if (distance >= bestDistance) continue;
    best = word;
    bestDistance = distance;
  }
  return best;
}

/** How many mistakes turn one word into the other (optimal string alignment). */
function distanceOf(one: string, other: string): number {
  let before: number[] = [];
  let last = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let at = 1; at <= one.length; at += 1) {
    const row = [at];
    for (let to = 1; to <= other.length; to += 1) {
      const same = one[at - 1] === other[to - 1];
      const exchanged = at > 1 && to > 1 && one[at - 1] === other[to - 2] && one[at - 2] === other[to - 1];
      row[to] = Math.min(
        (last[to] as number) + 1,
        (row[to - 1] as number) + 1,
        (last[to - 1] as number) + (same ? 0 : 1),
        exchanged ? (before[to - 2] as number) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    before = last;
    last = row;
  }
  return last[other.length] as number;
}
