// The sign-in: by passkey, by password and code, by the identity provider, or by the one-time link that led here.
import { Button, PasswordInput, Stack, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useEffect, useRef, useState } from 'react';
import { sessionHasEnded, signedIn } from '../session.js';
import { Failure, Loading, Shown } from '../states.js';
import { useAttempt } from './attempt.js';
import { byPasskey, byPassword, openLink, waysToSignIn } from './calls.js';
import { Gate } from './gate.js';

const PROVIDER = '/console/api/sign-in/provider';

/** What stands behind the # of a link: `NAME:TOKEN`. */
function linkIn(hash: string): { readonly name: string; readonly token: string } | undefined {
  const [, name, token] = /^#([^:]+):([\w-]+)$/.exec(hash) ?? [];
  return name === undefined || token === undefined ? undefined : { name: decodeURIComponent(name), token };
}

export function SignIn({ enrol }: { enrol(): void }): ReactNode {
  const [link] = useState(() => (location.pathname === '/sign-in' ? linkIn(location.hash) : undefined));
  const [isRefused, setRefused] = useState(false);
  if (link !== undefined && !isRefused)
    return <ByLink {...link} enrol={enrol} refused={() => setRefused(true)} />;
  return <ByOwnMeans isLinkRefused={isRefused} />;
}

function ByLink({
  name,
  token,
  enrol,
  refused,
}: {
  readonly name: string;
  readonly token: string;
  enrol(): void;
  refused(): void;
}): ReactNode {
  const isUsed = useRef(false);
  const { run, error } = useAttempt();
  useEffect(() => {
    if (isUsed.current) return;
    isUsed.current = true;
    // The link works once: keep it out of the browser's history.
    history.replaceState(null, '', '/');
    void run(async () => {
      const { stage } = await openLink(name, token);
      if (stage === 'enrolling') enrol();
      else await signedIn();
    });
  });
  return (
    <Gate title={`Welcome, ${name}`}>
      {error === undefined ? (
        <Loading lines={2} />
      ) : (
        <Stack>
          <Failure error={error} />
          <p>Ask an administrator for a new link. It works once, for 15 minutes.</p>
          <Button variant="default" onClick={refused}>
            Sign in another way
          </Button>
        </Stack>
      )}
    </Gate>
  );
}

/** Why the identity provider has sent somebody back who is not signed in. */
const REFUSED: Readonly<Record<string, string>> = {
  provider:
    'The identity provider did not identify you, did not sign you in strongly enough, or you are not an operator here. Ask an administrator.',
  disabled: 'You have not signed in for 90 days. Ask another administrator to enable you.',
};

function ByOwnMeans({ isLinkRefused }: { readonly isLinkRefused: boolean }): ReactNode {
  const refused = new URLSearchParams(location.search).get('refused');
  const ways = useQuery({ queryKey: ['sign-in'], queryFn: waysToSignIn });
  return (
    <Gate title="Sign in">
      <Shown query={ways}>
        {({ demo, passkeys, provider }) => (
          <Stack>
            {demo && !isLinkRefused && !sessionHasEnded() && (
              <p>This is the demo: open the link it printed. The link is in demo.json, too.</p>
            )}
            {sessionHasEnded() && (
              <p role="status">Your session has ended. Sign in again, and you are back where you were.</p>
            )}
            {refused !== null && <p role="alert">{REFUSED[refused] ?? REFUSED.provider}</p>}
            {passkeys && <ByPasskey />}
            {provider !== null && (
              <Button component="a" href={PROVIDER} variant="default">
                Sign in with {provider}
              </Button>
            )}
            <ByPassword isOpen={!passkeys} />
          </Stack>
        )}
      </Shown>
    </Gate>
  );
}

function ByPasskey(): ReactNode {
  const { run, isBusy, error } = useAttempt();
  const go = async () => {
    if (await run(byPasskey)) await signedIn();
  };
  return (
    <>
      <Button loading={isBusy} onClick={() => void go()}>
        Sign in with a passkey
      </Button>
      {error !== undefined && <Failure error={error} />}
    </>
  );
}

function ByPassword({ isOpen: isOpenAtFirst }: { readonly isOpen: boolean }): ReactNode {
  const [isOpen, setOpen] = useState(isOpenAtFirst);
  const [name, setName] = useState('');
  const [password, setPassword] = useState('');
  const [code, setCode] = useState('');
  const { run, isBusy, error } = useAttempt();
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (await run(() => byPassword(name, password, code))) await signedIn();
  };
  if (!isOpen)
    return (
      <Button variant="default" onClick={() => setOpen(true)}>
        Sign in with a password and a code
      </Button>
    );
  return (
    <form onSubmit={(event) => void submit(event)}>
      <Stack>
        <TextInput
          label="Name"
          name="name"
          autoComplete="username"
          required
          autoFocus
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        <PasswordInput
          label="Password"
          name="password"
          autoComplete="current-password"
          required
          value={password}
          onChange={(event) => setPassword(event.currentTarget.value)}
          visibilityToggleButtonProps={{ 'aria-label': 'Show the password' }}
        />
        <CodeInput value={code} set={setCode} />
        {error !== undefined && <Failure error={error} />}
        <Button type="submit" loading={isBusy}>
          Sign in
        </Button>
      </Stack>
    </form>
  );
}

export function CodeInput({ value, set }: { readonly value: string; set(code: string): void }): ReactNode {
  return (
    <TextInput
      label="Code"
      description="The six digits that your authenticator shows"
      name="code"
      inputMode="numeric"
      autoComplete="one-time-code"
      pattern="[0-9 ]{6,7}"
      required
      value={value}
      onChange={(event) => set(event.currentTarget.value)}
    />
  );
}
