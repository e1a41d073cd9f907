// What axe-core finds wrong with a page as it stands in the browser, in both colour schemes.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { PROJECT_ROOT } from './project.js';

interface Violation {
  readonly id: string;
  readonly nodes: readonly { readonly html: string }[];
}

const AXE = readFileSync(join(PROJECT_ROOT, 'node_modules', 'axe-core', 'axe.min.js'), 'utf8');
const SCHEME_OF_PAGE = 'document.documentElement.dataset.mantineColorScheme';
const SCHEMES = ['dark', 'light'] as const;
/** What is right is not described: that takes axe-core as long as to look for what is wrong. */
const ONLY_MISTAKES = "resultTypes: ['violations'], selectors: false";
const everythingOf = (part: string) => `axe.run(${part}, { ${ONLY_MISTAKES} })`;
const contrastOf = (part: string) => `axe.run(${part}, { ${ONLY_MISTAKES}, runOnly: ['color-contrast'] })`;

/** A line for each kind of mistake. Colours are looked at in both schemes, the rest once. */
export async function accessibilityMistakes(page: Page): Promise<string[]> {
  // By the debugger: the page itself runs no script but its own.
  await page.evaluate(AXE);
  const before = await page.evaluate<string>(SCHEME_OF_PAGE);
  const mistakes = await run(page, before, everythingOf('document'));
  const other = SCHEMES.find((scheme) => scheme !== before) as string;
  const set = (scheme: string) => page.evaluate(`${SCHEME_OF_PAGE} = '${scheme}'`);
  await set(other);
  mistakes.push(...(await run(page, other, contrastOf('document'))));
  await set(before);
  return mistakes;
}

/** The same of a page, or of a part of it, that follows what the browser says of the scheme, instead of having one of its own. */
export async function mistakesInBothSchemes(page: Page, within = ''): Promise<string[]> {
  await page.evaluate(AXE);
  const mistakes: string[] = [];
  for (const scheme of SCHEMES) {
    await page.emulateMedia({ colorScheme: scheme });
    const part = within === '' ? 'document' : `'${within}'`;
    const program = scheme === 'light' ? everythingOf(part) : contrastOf(part);
    mistakes.push(...(await run(page, scheme, program)));
  }
  return mistakes;
}

async function run(page: Page, scheme: string, program: string): Promise<string[]> {
  const { violations } = (await page.evaluate(program)) as { readonly violations: readonly Violation[] };
  return violations.map(({ id, nodes }) => `${scheme}: ${id} (${nodes.length}): ${nodes[0]?.html}`);
}
