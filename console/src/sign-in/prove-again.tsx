// The dialogue in which an operator proves again who they are, before money moves or keys change.
import { Anchor, Button, Group, PasswordInput, Stack } from '@mantine/core';
import { type FormEvent, type ReactNode, useState } from 'react';
import { Dialog } from '../forms/dialog.js';
import { useSession } from '../session.js';
import { Failure } from '../states.js';
import { useAttempt } from './attempt.js';
import { proveByPasskey, proveByPassword } from './calls.js';
import { CodeInput } from './sign-in.js';

export function ProveAgain({ onEnd }: { onEnd(proved: boolean): void }): ReactNode {
  const { method, operator } = useSession();
  const [isByPassword, setByPassword] = useState(method === 'password');
  const [password, setPassword] = useState('');
  const [code, setCode] = useState('');
  const { run, isBusy, error } = useAttempt();
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    event.stopPropagation();
    const isProved = await run(() => (isByPassword ? proveByPassword(password, code) : proveByPasskey()));
    if (isProved) onEnd(true);
  };
  if (method === 'provider') return <AtProvider onEnd={onEnd} />;
  return (
    <Dialog title="Confirm it is you" close={() => onEnd(false)} above>
      <form onSubmit={(event) => void submit(event)}>
        <Stack>
          <p>
            This needs a proof from the last five minutes that you are {operator}. Your action continues
            afterwards.
          </p>
          {isByPassword && (
            <>
              <PasswordInput
                label="Password"
                name="password"
                autoComplete="current-password"
                required
                data-autofocus
                value={password}
                onChange={(event) => setPassword(event.currentTarget.value)}
                visibilityToggleButtonProps={{ 'aria-label': 'Show the password' }}
              />
              <CodeInput value={code} set={setCode} />
            </>
          )}
          {error !== undefined && <Failure error={error} />}
          <Anchor component="button" type="button" onClick={() => setByPassword(!isByPassword)}>
            {isByPassword ? 'Use a passkey instead' : 'Use a password and a code instead'}
          </Anchor>
          <Group justify="flex-end">
            <Button variant="default" onClick={() => onEnd(false)}>
              Cancel
            </Button>
            <Button type="submit" loading={isBusy}>
              {isByPassword ? 'Prove' : 'Use a passkey'}
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}

/** An operator who signed in through the identity provider proves it there, which leaves the page. */
function AtProvider({ onEnd }: { onEnd(proved: boolean): void }): ReactNode {
  return (
    <Dialog title="Confirm it is you" close={() => onEnd(false)} above>
      <Stack>
        <p>
          This needs a proof of the last five minutes that it is you. Your identity provider asks for it;
          afterwards you are back on Today and can start your action again.
        </p>
        <Group justify="flex-end">
          <Button variant="default" onClick={() => onEnd(false)}>
            Cancel
          </Button>
          <Button component="a" href="/console/api/re-authenticate/provider">
            Go to the identity provider
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
}
