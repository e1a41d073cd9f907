// An attempt to sign in or to set something up: whether it is under way, and what was wrong with the last one.
import { useState } from 'react';
import { Problem } from '../api/problem.js';

export interface Attempt {
  readonly isBusy: boolean;
  readonly error: unknown;
  run(deed: () => Promise<unknown>): Promise<boolean>;
}

export function useAttempt(): Attempt {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const run = async (deed: () => Promise<unknown>) => {
    setBusy(true);
    setError(undefined);
    try {
      await deed();
      return true;
    } catch (failed) {
      setError(inWords(failed));
      return false;
    } finally {
      setBusy(false);
    }
  };
  return { isBusy, error, run };
}

/** Browsers say no more of a passkey that was not given than that it was not. */
function inWords(error: unknown): unknown {
  if (error instanceof Error && error.name === 'NotAllowedError')
    return new Problem(400, 'passkey_not_given', 'The passkey was not given, or it took too long.');
  return error;
}
