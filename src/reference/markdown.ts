// In charge of the pages of docs/ as HTML: as much of Markdown as they use, so that the reference says what they say.
import { codeBlock, Html, html, joined, type Part, table } from './html.js';

/** Where a link of a page leads from here: an address, or nowhere, since not every page is shown. */
export type LinkTarget = (target: string) => string | undefined;

const LANGUAGES: Readonly<Record<string, string>> = {
  sh: 'Shell',
  console: 'Shell',
  json: 'JSON',
  http: 'HTTP',
  js: 'JavaScript',
  ts: 'TypeScript',
  python: 'Python',
  php: 'PHP',
  java: 'Java',
  '': 'Text',
};
/** Below the heading of the guide that a page is shown in. */
const HEADINGS = { '###': 'h4', '####': 'h5' } as const;

const BULLET = /^(?:- |\d+\. )/;
const INLINE =
  /(``.+?``|`[^`]+`|\*\*[^*]+\*\*|\*[^*\s][^*]*\*|\[(?:[^\]`]|`[^`]*`)+\]\([^)\s]+\)|<https?:[^>\s]+>)/;

export function markdown(text: string, link: LinkTarget): Html {
  const lines = text.split('\n');
  const blocks: Html[] = [];
  while (lines.length > 0) {
    const block = nextBlock(lines, link);
    if (block !== undefined) blocks.push(block);
  }
  return joined(blocks, '\n');
}

/** Takes the lines of one block away. */
function nextBlock(lines: string[], link: LinkTarget): Html | undefined {
  const [first = ''] = lines;
  if (first.trim() === '') {
    lines.shift();
    return undefined;
  }
  if (first.startsWith('```')) return fenced(lines);
  if (first.startsWith('    ')) {
    return codeBlock(
      'Text',
      taken(lines, (line) => line.startsWith('    ') || line.trim() === '', dedented),
    );
  }
  if (first.startsWith('|')) return tableOf(taken(lines, (line) => line.startsWith('|')).split('\n'), link);
  if (first.startsWith('#')) return headingOf(lines.shift() as string, link);
  if (BULLET.test(first)) return listOf(lines, link);
  return html`<p>${inline(taken(lines, isText), link)}</p>`;
}

function isText(line: string): boolean {
  return line.trim() !== '' && !line.startsWith('```') && !line.startsWith('|') && !line.startsWith('#');
}

function dedented(line: string): string {
  return line.slice(4);
}

/** The lines from the first one on for as long as they belong together. */
function taken(
  lines: string[],
  belongs: (line: string) => boolean,
  changed = (line: string) => line,
): string {
  const end = lines.findIndex((line, index) => index > 0 && !belongs(line));
  return lines
    .splice(0, end === -1 ? lines.length : end)
    .map(changed)
    .join('\n')
    .trimEnd();
}

function fenced(lines: string[]): Html {
  const language = (lines.shift() as string).slice(3);
  const end = lines.indexOf('```');
  const title = LANGUAGES[language];
  if (title === undefined || end === -1)
    throw new Error(`a block of code in docs/ is not understood: ${language}`);
  const text = lines.splice(0, end).join('\n');
  lines.shift();
  return codeBlock(title, text);
}

function headingOf(line: string, link: LinkTarget): Html {
  const [, marks = '', title = ''] = /^(#+) (.*)$/.exec(line) ?? [];
  const name = HEADINGS[marks as keyof typeof HEADINGS];
  if (name === undefined)
    throw new Error(`a guide of the reference page holds a heading of another: ${line}`);
  return html`${new Html(`<${name}>`)}${inline(title, link)}${new Html(`</${name}>`)}`;
}

function listOf(lines: string[], link: LinkTarget): Html {
  const numbered = /^\d/.test(lines[0] as string);
  const items: Html[] = [];
  while (BULLET.test(lines[0] ?? '')) {
    const item = taken(lines, (line) => /^ +\S/.test(line));
    items.push(html`<li>${inline(item.replace(BULLET, ''), link)}</li>`);
  }
  return numbered ? html`<ol>${items}</ol>` : html`<ul>${items}</ul>`;
}

function tableOf([headings = '', , ...rows]: readonly string[], link: LinkTarget): Html {
  const cells = (line: string) =>
    line
      .slice(1, -1)
      .split(/(?<!\\)\|/)
      .map((cell) => cell.trim().replaceAll('\\|', '|'));
  const shown = rows.map((row) => cells(row).map((cell) => inline(cell, link)));
  return table(
    cells(headings).map((cell) => inline(cell, link)),
    shown,
  );
}

export function inline(text: string, link: LinkTarget): Part {
  return text
    .replaceAll(/\n */g, ' ')
    .split(INLINE)
    .map((piece, index) => (index % 2 === 0 ? piece : marked(piece, link)));
}

function marked(piece: string, link: LinkTarget): Part {
  if (piece.startsWith('``')) return html`<code>${piece.slice(2, -2).trim()}</code>`;
  if (piece.startsWith('`')) return html`<code>${piece.slice(1, -1)}</code>`;
  if (piece.startsWith('**')) return html`<strong>${inline(piece.slice(2, -2), link)}</strong>`;
  if (piece.startsWith('*')) return html`<em>${inline(piece.slice(1, -1), link)}</em>`;
  if (piece.startsWith('<')) return html`<code>${piece.slice(1, -1)}</code>`;
  const [, words = '', target = ''] = /^\[(.*)\]\(([^)]*)\)$/.exec(piece) ?? [];
  const address = link(target);
  return address === undefined ? inline(words, link) : html`<a href="${address}">${inline(words, link)}</a>`;
}
