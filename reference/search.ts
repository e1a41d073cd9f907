// Searching the page: every section by its title and by its words, the best first.
import { element, found } from './elements.js';

interface Section {
  readonly address: string;
  readonly title: string;
  readonly group: string;
  readonly text: string;
}

const SHOWN = 12;
/** In the order in which they stand in the list, where they match as well. */
const GROUPS: readonly (readonly [selector: string, group: string])[] = [
  ['.operation', 'Operation'],
  ['.introduction > section', 'Introduction'],
  ['.guide', 'Guide'],
  ['.object', 'Object'],
];

function sections(): Section[] {
  const parts = GROUPS.flatMap(([selector, group]) =>
    [...document.querySelectorAll(selector)].map((part) => ({
      address: `#${part.id}`,
      title: titleOf(part),
      group,
      text: textOf(part),
    })),
  );
  const errors = [...document.querySelectorAll('[id^="error-"]')].map((code) => ({
    address: `#${code.id}`,
    title: code.textContent ?? '',
    group: 'Error',
    text: textOf(code.closest('tr') ?? code),
  }));
  return [...parts, ...errors];
}

function titleOf(part: Element): string {
  const heading = part.querySelector('h2, h3');
  return (heading?.firstChild?.textContent ?? '').trim();
}

function textOf(part: Element): string {
  return (part.textContent ?? '').toLowerCase();
}

/** Every word must be there. More for a title, most for its beginning. */
function scoreOf({ title, text }: Section, words: readonly string[]): number {
  const name = title.toLowerCase();
  if (!words.every((word) => text.includes(word) || name.includes(word))) return 0;
  return words.reduce((sum, word) => {
    if (name.startsWith(word)) return sum + 9;
    return sum + (name.includes(word) ? 5 : 1);
  }, 0);
}

export function addSearch(): void {
  const form = found<HTMLFormElement>('#search');
  const field = found<HTMLInputElement>('input', form);
  const results = found<HTMLElement>('#search-results');
  let index: readonly Section[] | undefined;
  const show = () => {
    const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length === 0) {
      results.replaceChildren();
      return;
    }
    // Once, and only for whoever searches.
    index ??= sections();
    const hits = index
      .map((section) => ({ section, score: scoreOf(section, words) }))
      .filter(({ score }) => score > 0)
      .toSorted((one, other) => other.score - one.score);
    const items = hits
      .slice(0, SHOWN)
      .map(({ section: { address, title, group } }) =>
        element(
          'li',
          {},
          element('a', { href: address }, element('span', {}, title), element('small', {}, group)),
        ),
      );
    const count = hits.length === 0 ? 'Nothing found' : `${hits.length} found`;
    results.replaceChildren(element('p', { role: 'status' }, count), element('ul', {}, ...items));
  };
  form.hidden = false;
  field.addEventListener('input', show);
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    results.querySelector('a')?.click();
  });
  results.addEventListener('click', (event) => {
    if (event.target instanceof Element) unfoldAround(event.target.closest('a')?.hash ?? '');
  });
  addEventListener('hashchange', () => unfoldAround(location.hash));
  unfoldAround(location.hash);
  document.addEventListener('keydown', (event) => {
    const typing = event.target instanceof Element && event.target.closest('input, textarea') !== null;
    if (event.key === '/' && !typing && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      field.focus();
    }
    if (event.key === 'Escape' && event.target === field) {
      field.value = '';
      show();
    }
  });
}

/** What a link leads to may be folded away. */
function unfoldAround(hash: string): void {
  const target = hash === '' ? null : document.getElementById(decodeURIComponent(hash.slice(1)));
  const folded = target?.closest<HTMLDetailsElement>('details:not([open])');
  if (!folded) return;
  folded.open = true;
  target?.scrollIntoView();
}
