// The keyboard: `?` lists what it does, `/` goes to the search box, `g` and a letter opens a page, `j` and `k` walk along a list.
import { Kbd } from '@mantine/core';
import { type ReactNode, useEffect, useRef } from 'react';
import { useLocation } from 'wouter';
import { Dialog } from '../forms/dialog.js';
import { usePlaces } from './navigation.js';

const CHORD_MS = 1_500;

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches('input, textarea, select, [contenteditable]');
}

/** The links by which the rows of a list open. */
function walk(by: number): void {
  const links = [...document.querySelectorAll<HTMLElement>('[data-row-link]')];
  const at = links.indexOf(document.activeElement as HTMLElement);
  links[Math.min(Math.max(at + by, 0), links.length - 1)]?.focus();
}

function toSearch(): void {
  const box = document.querySelector<HTMLInputElement>('[data-search] input, input[data-search]');
  box?.focus();
  box?.select();
}

export function useShortcuts(help: () => void): void {
  const [, navigate] = useLocation();
  const places = usePlaces();
  const chordMs = useRef(0);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      if (document.querySelector('[role="dialog"]') !== null) return;
      const isChord = Date.now() - chordMs.current < CHORD_MS;
      chordMs.current = 0;
      const place = isChord ? places.find(({ key }) => key === event.key) : undefined;
      if (place !== undefined) navigate(place.path);
      else if (event.key === 'g') chordMs.current = Date.now();
      else if (event.key === '?') help();
      else if (event.key === '/') toSearch();
      else if (event.key === 'j') walk(1);
      else if (event.key === 'k') walk(-1);
      else return;
      event.preventDefault();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, [places, navigate, help]);
}

export function ShortcutHelp({ close }: { close(): void }): ReactNode {
  const places = usePlaces();
  return (
    <Dialog title="Keyboard shortcuts" close={close}>
      <dl className="facts">
        <Key keys={['/']} does="go to the search box" />
        <Key keys={['j']} does="next row of the list" />
        <Key keys={['k']} does="row before" />
        <Key keys={['?']} does="this list" />
        {places.map(({ key, name }) => (
          <Key key={key} keys={['g', key]} does={name} />
        ))}
      </dl>
    </Dialog>
  );
}

function Key({ keys, does }: { readonly keys: readonly string[]; readonly does: string }): ReactNode {
  return (
    <>
      <dt>
        {keys.map((key) => (
          <Kbd key={key} mr={4}>
            {key}
          </Kbd>
        ))}
      </dt>
      <dd>{does}</dd>
    </>
  );
}
