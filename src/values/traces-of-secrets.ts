// Whether texts with secrets may still lie in this process's memory, where a program cannot overwrite them one by one.

/** Some of them are dropped only a while after they were last used. */
const ROUNDS = 3;

let roundsLeft = ROUNDS;

/** A request was worked on, or a seal opened. */
export function secretsWereUsed(): void {
  roundsLeft = ROUNDS;
}

/** To be asked before each round of overwriting: it is needed until a few rounds after secrets were last used. */
export function isRoundNeeded(): boolean {
  if (roundsLeft === 0) return false;
  roundsLeft -= 1;
  return true;
}
