// As much of Markdown as docs/ use, as HTML for the reference page.
import { describe, expect, test } from 'vitest';
import { markdown } from '../../src/reference/markdown.js';

describe('Markdown', () => {
  const shown = (text: string) => markdown(text, (target) => (target === 'here' ? '#here' : undefined)).text;

  test.each([
    ['a `b` **c** *d*\nand <e>', '<p>a <code>b</code> <strong>c</strong> <em>d</em> and &lt;e&gt;</p>'],
    ['[a](here) [b](elsewhere.md)', '<p><a href="#here">a</a> b</p>'],
    ['- a\n  b\n- c', '<ul><li>a b</li><li>c</li></ul>'],
    ['1. a\n2. b', '<ol><li>a</li><li>b</li></ol>'],
    ['### a', '<h4>a</h4>'],
    ['``a ` b``', '<p><code>a ` b</code></p>'],
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
