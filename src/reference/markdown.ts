// Renders pages of docs/ as HTML, so that the reference says the same. HTML inside them is shown as text.
import { Marked } from 'marked';
import { Html, html, type Part } from '../values/html.js';
import { codeBlock, table } from './html.js';

/** Where a link of a page leads from here; undefined if the target is not shown. */
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

function reader(link: LinkTarget): Marked {
  return new Marked({
    renderer: {
      code({ text, lang = '' }) {
        const title = LANGUAGES[lang];
        if (title === undefined) throw new Error(`a block of code in docs/ is not understood: ${lang}`);
        return `${codeBlock(title, text).text}\n`;
      },
      heading({ depth, tokens, raw }) {
        if (depth < 3) throw new Error(`a guide of the reference page holds a heading of another: ${raw}`);
        // One level below the guide's heading.
        const name = `h${depth + 1}`;
        return `<${name}>${this.parser.parseInline(tokens)}</${name}>\n`;
      },
      html: ({ text }) => html`${text}`.text,
      link({ raw, href, tokens }) {
        const words = new Html(this.parser.parseInline(tokens));
        if (raw.startsWith('<')) return html`<code>${words}</code>`.text;
        const address = link(href);
        return address === undefined ? words.text : html`<a href="${address}">${words}</a>`.text;
      },
      table({ header, rows }) {
        const shown = (cells: typeof header): Part[] =>
          cells.map(({ tokens }) => new Html(this.parser.parseInline(tokens)));
        return `${table(shown(header), rows.map(shown)).text}\n`;
      },
    },
  });
}

export function markdown(text: string, link: LinkTarget): Html {
  return new Html((reader(link).parse(text) as string).trimEnd());
}

export function inline(text: string, link: LinkTarget): Html {
  return new Html(reader(link).parseInline(text) as string);
}
