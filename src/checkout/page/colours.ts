// A merchant's colour as a style sheet of payers' pages. Its address says all of it, so that it needs no database and no inline style.
import { coloursOnPages, PAGE_GROUNDS } from '../../organisations/brand.js';

const ADDRESS = /^\/colour-([0-9a-f]{6})\.css$/;

export function coloursAddress(colour: string): string {
  return `/colour-${colour.slice(1)}.css`;
}

/** Undefined for every other address. */
export function coloursAt(path: string): string | undefined {
  const [, digits] = ADDRESS.exec(path) ?? [];
  if (digits === undefined) return undefined;
  const { light, dark } = coloursOnPages(`#${digits}`);
  const ofDark = accent(dark, PAGE_GROUNDS.dark);
  return `${accent(light, PAGE_GROUNDS.light)}@media (prefers-color-scheme: dark) {\n${ofDark}}\n`;
}

/** What can be read on a ground is a ground on which that can be read. */
function accent(colour: string, ground: string): string {
  return `:root {\n--accent: ${colour};\n--on-accent: ${ground};\n}\n`;
}
