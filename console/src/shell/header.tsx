// The header: which gateway this is (mode, version, clock), who is signed in, and the switches for mode and colours.
import { ActionIcon, Button, Menu, useComputedColorScheme, useMantineColorScheme } from '@mantine/core';
import { type ReactNode, useEffect, useState } from 'react';
import { Link } from 'wouter';
import { useLive } from '../live.js';
import { ModeMark } from '../marks.js';
import { useChooseMode, useMode } from '../mode.js';
import { signOut, useSession } from '../session.js';
import { clock } from '../words.js';

const SAID = { test: 'no money moves', live: 'real money' } as const;

export function Header({
  isOpen,
  toggle,
  help,
}: {
  readonly isOpen: boolean;
  toggle(): void;
  help(): void;
}): ReactNode {
  const session = useSession();
  return (
    <header className="header">
      <Button
        className="nav-toggle"
        size="compact-sm"
        variant="default"
        onClick={toggle}
        aria-expanded={isOpen}
        aria-controls="navigation"
      >
        Menu
      </Button>
      <Link href="/" className="brand">
        Tollgate
      </Link>
      <ModeSwitch />
      <CellSwitch />
      <div className="header-end">
        <Clock />
        <span className="dim wide-only">version {session.version}</span>
        <SchemeSwitch />
        <ActionIcon variant="default" aria-label="Keyboard shortcuts" onClick={help} className="wide-only">
          ?
        </ActionIcon>
        <Account />
      </div>
    </header>
  );
}

/** Where the installation has live merchants, both can be looked at, one at a time. */
function ModeSwitch(): ReactNode {
  const { mode: ofSession, demo } = useSession();
  const mode = useMode();
  const choose = useChooseMode();
  const other = mode === 'test' ? 'live' : 'test';
  return (
    <>
      <ModeMark mode={mode} said={demo ? 'demo' : SAID[mode]} />
      {ofSession === 'live' && (
        <Button size="compact-xs" variant="default" onClick={() => choose(other)}>
          Show {other}
        </Button>
      )}
    </>
  );
}

/** Which of several installations this is, and the way to the others. Each has operators and sessions of its own. */
function CellSwitch(): ReactNode {
  const { cell, other_cells: others } = useSession();
  if (others.length === 0) return cell === 'one' ? null : <span className="dim wide-only">cell {cell}</span>;
  return (
    <Menu position="bottom-start" withInitialFocusPlaceholder={false}>
      <Menu.Target>
        <Button size="compact-xs" variant="default">
          Cell {cell}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {others.map(({ name, console }) => (
          <Menu.Item key={name} component="a" href={console} rel="noreferrer">
            Console of cell {name}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}

function Clock(): ReactNode {
  const { aheadMs } = useLive();
  const [nowMs, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, []);
  const time = nowMs + aheadMs;
  return (
    <time className="clock" dateTime={new Date(time).toISOString()} title="The server’s clock, in Sydney">
      {clock(time)} Sydney
    </time>
  );
}

function SchemeSwitch(): ReactNode {
  const { setColorScheme } = useMantineColorScheme();
  const next =
    useComputedColorScheme('light', { getInitialValueInEffect: false }) === 'dark' ? 'light' : 'dark';
  return (
    <Button
      size="compact-sm"
      variant="default"
      onClick={() => setColorScheme(next)}
      aria-label={`Show ${next} colours`}
    >
      {next === 'dark' ? 'Dark' : 'Light'}
    </Button>
  );
}

function Account(): ReactNode {
  const { operator, role, organisation } = useSession();
  return (
    <Menu position="bottom-end" withInitialFocusPlaceholder={false}>
      <Menu.Target>
        <Button size="compact-sm" variant="default">
          {operator}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>
          {role}
          {organisation === null ? '' : ` of organisation ${organisation}`}
        </Menu.Label>
        <Menu.Item component={Link} href="/account">
          Sign-in and sessions
        </Menu.Item>
        <Menu.Item onClick={() => void signOut(false)}>Sign out</Menu.Item>
        <Menu.Item onClick={() => void signOut(true)}>Sign out everywhere</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
