// The guides of the reference page: sections of docs/, so that both say the same.
import { readFileSync } from 'node:fs';
import { type Html, html } from '../values/html.js';
import { inline, type LinkTarget, markdown } from './markdown.js';

interface Guide {
  readonly id: string;
  readonly title: string;
  readonly page: string;
  /** The section to show; the whole page if undefined. */
  readonly section?: string;
}

export const GUIDES: readonly Guide[] = [
  { id: 'next', title: 'What can be done next', page: 'docs/api.md', section: 'What can be done next' },
  { id: 'finding', title: 'Finding transactions', page: 'docs/api.md', section: 'Finding transactions' },
  {
    id: 'something-goes-wrong',
    title: 'When something goes wrong',
    page: 'docs/api.md',
    section: 'When something goes wrong',
  },
  { id: 'direct-debit', title: 'Direct debit', page: 'docs/api.md', section: 'Direct debit' },
  { id: 'vault', title: 'The vault', page: 'docs/api.md', section: 'The vault: customers and tokens' },
  { id: 'surcharges', title: 'Surcharges', page: 'docs/api.md', section: 'Surcharges' },
  { id: 'events', title: 'Events', page: 'docs/api.md', section: 'Events' },
  { id: 'webhooks', title: 'Webhooks', page: 'docs/webhooks.md', section: 'For the developer' },
  { id: 'test-cards', title: 'Test cards', page: 'docs/first-steps.md', section: 'Test cards' },
  { id: 'moving', title: 'Moving from Stripe or Adyen', page: 'docs/moving.md' },
  { id: 'going-live', title: 'Before you go live', page: 'docs/api.md', section: 'Before you go live' },
];

/** Pages whose subject has a section of its own on the reference page. */
const PLACES: Readonly<Record<string, string>> = {
  'docs/api.md': '#introduction',
  'docs/errors.md': '#errors',
  'docs/webhooks.md': '#webhooks',
  'docs/moving.md': '#moving',
};

const ROOT = new URL('../../', import.meta.url);

function read(page: string): string {
  return readFileSync(new URL(page, ROOT), 'utf8');
}

export function guideSection(guide: Guide): Html {
  const { id, title, page, section } = guide;
  return html`<section class="guide" id="${id}"><h3>${title} <a class="anchor" href="#${id}" aria-label="Link to ${title}">#</a></h3>
${markdown(sectionOf(read(page), section), linksOf(page))}</section>`;
}

/** The text below a heading, up to the next of its level. Without a heading, everything below the page's title. */
function sectionOf(text: string, section: string | undefined): string {
  const heading = section === undefined ? /^# .*$/m : new RegExp(`^## ${section}$`, 'm');
  const start = heading.exec(text);
  if (start === null) throw new Error(`docs/ has no section "${section}"`);
  const below = text.slice(start.index + start[0].length);
  // The sections of a whole page become parts of the guide.
  if (section === undefined) return below.replaceAll(/^## /gm, '### ');
  const end = below.search(/^## /m);
  return end === -1 ? below : below.slice(0, end);
}

function linksOf(page: string): LinkTarget {
  return (target) => {
    if (/^https?:/.test(target)) return undefined;
    const { pathname, hash } = new URL(target, new URL(page, 'file:///'));
    const named = pathname.slice(1);
    const guide = GUIDES.find(
      (each) => each.page === named && each.section !== undefined && `#${slugOf(each.section)}` === hash,
    );
    return guide === undefined ? PLACES[named] : `#${guide.id}`;
  };
}

function slugOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\w -]/g, '')
    .replaceAll(' ', '-');
}

export interface Advice {
  readonly meaning: Html;
  readonly whatToDo: Html;
}

/** The advice in docs/errors.md for each code. */
export function errorAdvice(): ReadonlyMap<string, Advice> {
  const page = 'docs/errors.md';
  const link = linksOf(page);
  const rows = [...read(page).matchAll(/^\| \d{3} \| `(\w+)` \| (.*) \| (.*) \|$/gm)];
  return new Map(
    rows.map(([, code = '', meaning = '', whatToDo = '']) => [
      code,
      { meaning: html`${inline(meaning, link)}`, whatToDo: html`${inline(whatToDo, link)}` },
    ]),
  );
}
