// Enrolment: an operator who opened a link sets up how they will sign in.
import { Alert, Button, PasswordInput, Stack, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useState } from 'react';
import { QrCode } from '../qr-code.js';
import { signedIn } from '../session.js';
import { Failure, Shown } from '../states.js';
import { useAttempt } from './attempt.js';
import { newCodes, setPasskey, setPassword, waysToSignIn } from './calls.js';
import { Gate } from './gate.js';
import { CodeInput } from './sign-in.js';

export function Enrolment({ done }: { done(): void }): ReactNode {
  const ways = useQuery({ queryKey: ['sign-in'], queryFn: waysToSignIn });
  const [isByPassword, setByPassword] = useState(false);
  const ready = async () => {
    done();
    await signedIn();
  };
  return (
    <Gate title="How will you sign in?">
      <Shown query={ways}>
        {({ passkeys }) =>
          isByPassword || !passkeys ? (
            <>
              {!passkeys && (
                <p className="dim">
                  Passkeys need a host name, not an IP address, in the browser’s address bar.
                </p>
              )}
              <PasswordAndCodes ready={ready} />
              {passkeys && <Other words="Set a passkey instead" go={() => setByPassword(false)} />}
            </>
          ) : (
            <>
              <NewPasskey ready={ready} />
              <Other words="Set a password and codes instead" go={() => setByPassword(true)} />
            </>
          )
        }
      </Shown>
    </Gate>
  );
}

function Other({ words, go }: { readonly words: string; go(): void }): ReactNode {
  return (
    <Button variant="default" mt="md" onClick={go}>
      {words}
    </Button>
  );
}

function NewPasskey({ ready }: { ready(): Promise<void> }): ReactNode {
  const [label, setLabel] = useState('This device');
  const { run, isBusy, error } = useAttempt();
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void run(async () => {
      await setPasskey(label);
      await ready();
    });
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <p>A passkey stays on your device and cannot be guessed or phished. It is the best way.</p>
        <TextInput
          label="What to call it"
          name="label"
          required
          maxLength={60}
          value={label}
          onChange={(event) => setLabel(event.currentTarget.value)}
        />
        {error !== undefined && <Failure error={error} />}
        <Button type="submit" loading={isBusy}>
          Set a passkey
        </Button>
      </Stack>
    </form>
  );
}

function PasswordAndCodes({ ready }: { ready(): Promise<void> }): ReactNode {
  const codes = useQuery({ queryKey: ['new-codes'], queryFn: newCodes, staleTime: Number.POSITIVE_INFINITY });
  const [password, setChosen] = useState('');
  const [code, setCode] = useState('');
  const { run, isBusy, error } = useAttempt();
  const submit = (event: FormEvent, sealed: string) => {
    event.preventDefault();
    void run(async () => {
      await setPassword(password, sealed, code);
      await ready();
    });
  };
  return (
    <Shown query={codes}>
      {({ secret, uri, sealed }) => (
        <form onSubmit={(event) => submit(event, sealed)}>
          <Stack>
            <PasswordInput
              label="Password"
              description="12 characters or more"
              name="password"
              autoComplete="new-password"
              required
              minLength={12}
              value={password}
              onChange={(event) => setChosen(event.currentTarget.value)}
              visibilityToggleButtonProps={{ 'aria-label': 'Show the password' }}
            />
            <Alert variant="outline" title="Add this to your authenticator">
              <QrCode text={uri} title="The secret below, for the camera" />
              <code className="secret">{secret}</code>
              <a href={uri}>Open it in an authenticator on this device</a>
            </Alert>
            <CodeInput value={code} set={setCode} />
            {error !== undefined && <Failure error={error} />}
            <Button type="submit" loading={isBusy}>
              Set password and codes
            </Button>
          </Stack>
        </form>
      )}
    </Shown>
  );
}
