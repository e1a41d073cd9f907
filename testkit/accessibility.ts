// Checks a page as it stands in the browser with axe-core: in both colour schemes, at desktop and phone width.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { PROJECT_ROOT } from './project.js';

const AXE = readFileSync(join(PROJECT_ROOT, 'node_modules', 'axe-core', 'axe.min.js'), 'utf8');
const SCHEME_OF_PAGE = 'document.documentElement.dataset.mantineColorScheme';
const SCHEMES = ['dark', 'light'] as const;
const WIDE = { width: 1280, height: 900 };
const NARROW = { width: 390, height: 800 };
/** Passes are not described: that takes axe-core as long as finding violations. The page's styles are loaded already. */
const CHEAPLY = { resultTypes: ['violations'], selectors: false, preload: false, elementRef: false };
const CONTRAST = { ...CHEAPLY, runOnly: ['color-contrast'] };

/**
 * A line for each kind of mistake. The page is not loaded anew: another scheme changes colours only, which are looked at again; another width
 * changes what is seen. `part` is a selector, where the rest has been looked at before.
 */
export async function accessibilityMistakes(page: Page, part = 'html'): Promise<string[]> {
  // By the debugger: the page itself runs no script but its own.
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(AXE);
  const mistakes: string[] = [];
  for (const size of [WIDE, NARROW]) {
    await page.setViewportSize(size);
    mistakes.push(...(await inBothSchemes(page, part)).map((words) => `${size.width} px, ${words}`));
    const tooWide = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth');
    if (tooWide > 0) mistakes.push(`${size.width} px: ${tooWide} pixels too wide`);
  }
  await page.setViewportSize(WIDE);
  return mistakes;
}

async function inBothSchemes(page: Page, part: string): Promise<string[]> {
  const before = await page.evaluate<string>(SCHEME_OF_PAGE);
  const other = SCHEMES.find((scheme) => scheme !== before) as string;
  // In one go: nothing is painted in between that nobody looks at.
  return page.evaluate(`(async () => {
    const mistakes = await ${looking(part, before, CHEAPLY)};
    try {
      ${SCHEME_OF_PAGE} = '${other}';
      return [...mistakes, ...(await ${looking(part, other, CONTRAST)})];
    } finally {
      ${SCHEME_OF_PAGE} = '${before}';
    }
  })()`);
}

/** The same of a page, or of a part of it, that follows what the browser says of the scheme, instead of having one of its own. */
export async function mistakesInBothSchemes(page: Page, within = ''): Promise<string[]> {
  await page.evaluate(AXE);
  const mistakes: string[] = [];
  for (const scheme of SCHEMES) {
    await page.emulateMedia({ colorScheme: scheme });
    const part = within === '' ? 'html' : within;
    mistakes.push(...(await run(page, part, scheme, scheme === 'light' ? CHEAPLY : CONTRAST)));
  }
  return mistakes;
}

function run(page: Page, part: string, scheme: string, options: object): Promise<string[]> {
  return page.evaluate(looking(part, scheme, options));
}

/** For the page to do: a line for each kind of mistake. All else that axe-core says would take longer to hand over than to find out. */
function looking(part: string, scheme: string, options: object): string {
  const line = `\`${scheme}: \${id} (\${nodes.length}): \${nodes[0]?.html}\``;
  return `axe.run(${JSON.stringify(part)}, ${JSON.stringify(options)}).then(({ violations }) => violations.map(({ id, nodes }) => ${line}))`;
}
