// What an operator can be refused who signs in to the console: codes and sentences, as in `refusal.ts`.

export const SIGN_IN_REFUSALS = {
  sign_in_link_refused: () => 'this link was used already, is more than 15 minutes old, or is none of ours',
  sign_in_failed: () => 'the name, the password or the code is wrong',
  passkey_refused: () => 'this passkey is not known here, or did not answer as it should',
  provider_refused: () => 'the identity provider did not say who this is, or it is no operator',
  passkey_not_found: () => 'there is no such passkey',
  last_passkey: () => 'this passkey is the only way in: add another before',
  too_many_passkeys: ({ most }: { most: number }) => `an operator can have ${most} passkeys at most`,
  too_many_attempts: () => 'there were too many attempts; wait a quarter of an hour, or ask for a new link',
  password_too_short: ({ least }: { least: number }) => `a password takes ${least} characters or more`,
  password_too_easy: () => 'this password is too easily guessed',
  code_refused: () => 'the code is wrong, or was used before',
  session_not_found: ({ id }: { id: string }) => `there is no session ${id}`,
};
