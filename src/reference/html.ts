// What the reference page is made of, besides plain HTML.
import { escaped, Html, html, type Part } from '../values/html.js';

/** Backticks are the only markup in descriptions. */
export function prose(text = ''): Part {
  return text.split('`').map((piece, index) => (index % 2 === 1 ? html`<code>${piece}</code>` : piece));
}

/** Highlights strings, because readers change these. Focusable, so that keys can scroll it sideways. */
export function codeBlock(title: string, text: string): Html {
  const pieces = text.split(/("[^"\n]*"|# .*$)/m).map((piece, index) => {
    if (index % 2 === 0) return piece;
    return piece.startsWith('#') ? html`<i>${piece}</i>` : html`<span>${piece}</span>`;
  });
  return html`<figure><figcaption>${title}</figcaption><pre tabindex="0"><code>${pieces}</code></pre></figure>`;
}

export function table(headings: readonly Part[], rows: readonly (readonly Part[])[], kind = 'plain'): Html {
  return html`<table class="${kind}"><thead><tr>${headings.map((heading) => html`<th scope="col">${heading}</th>`)}</tr></thead>
<tbody>${rows.map((cells) => html`<tr>${cells.map((cell) => html`<td>${cell}</td>`)}</tr>\n`)}</tbody></table>`;
}

const PLACEHOLDER = /\{\{(.+?)\}\}(?!\})/g;

/** Fills a template: `{{title}}` becomes the part of that name. */
export function filled(template: Html, part: (name: string) => Part | undefined): Html {
  return new Html(
    template.text.replaceAll(PLACEHOLDER, (_, name: string) => {
      const value = part(name);
      if (value === undefined) throw new Error(`a placeholder of the template is not filled: ${name}`);
      return escaped(value);
    }),
  );
}
