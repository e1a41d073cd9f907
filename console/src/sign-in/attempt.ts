// An attempt to sign in or to set something up: whether it is under way, and what was wrong with the last one.
import { useState } from 'react';
import { Problem } from '../api/problem.js';

export interface Attempt {
  readonly isBusy: boolean;
  readonly error: unknown;
  run(action: () => Promise<unknown>): Promise<boolean>;
}

export function useAttempt(): Attempt {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const run = async (action: () => Promise<unknown>) => {
    setBusy(true);
    setError(undefined);
    try {
      await action();
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

/** Browsers do not say why a passkey was not given. */
function inWords(error: unknown): unknown {
  if (error instanceof Error && error.name === 'NotAllowedError')
    return new Problem(400, 'passkey_not_given', 'The passkey was not given, or it took too long.');
  return error;
}
