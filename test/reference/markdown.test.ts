// What the reference page makes of docs/ that another reader of Markdown would not: links, headings, code, and HTML that does nothing.
import { describe, expect, test } from 'vitest';
import { markdown } from '../../src/reference/markdown.js';

describe('Markdown', () => {
  const shown = (text: string) => markdown(text, (target) => (target === 'here' ? '#here' : undefined)).text;

  test.each([
    ['a <b onclick="x()">b</b>', '<p>a &lt;b onclick=&quot;x()&quot;&gt;b&lt;/b&gt;</p>'],
    ['<script>x()</script>', '&lt;script&gt;x()&lt;/script&gt;'],
    [
      '[a](here) [`b`](elsewhere.md) <https://c.example>',
      '<p><a href="#here">a</a> <code>b</code> <code>https://c.example</code></p>',
    ],
    ['[a](javascript:x()) https://b.example', '<p>a https://b.example</p>'],
    ['### a', '<h4>a</h4>'],
  ])('%j → %s', (text, expected) => {
    expect(shown(text)).toBe(expected);
  });

  test('tables → a bar inside of a cell is one', () => {
    expect(shown('| A | B |\n|---|---|\n| `x \\| y` | z |')).toContain(
      '<tr><td><code>x | y</code></td><td>z</td></tr>',
    );
  });

  test.each(['## another section', '```cobol\nx\n```'])('%j → refused when the page is made', (text) => {
    expect(() => shown(text)).toThrow();
  });
});
