// What may be a logo on payers' pages: a PNG, or an SVG that can do nothing but be drawn. Whatever is not known to be harmless is refused.

import { open } from 'node:fs/promises';
import { unreadable } from '../values/whole-file.js';

export const LOGO_BYTES = 64 * 1024;
export type LogoType = 'image/png' | 'image/svg+xml';

/** Further than this a small file could fill a browser's memory. */
const MOST_PIXELS = 2_000;
const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
/** Length, name and checksum. */
const AROUND_CHUNK = 12;

/** As it is in a file. No more of it is read than tells that it is too long. */
export async function readLogo(path: string): Promise<Buffer> {
  const file = await open(path).catch(unreadable(path));
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(LOGO_BYTES + 1), 0, LOGO_BYTES + 1, 0);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

/** Of one that is allowed. */
export function typeOfLogo(content: Buffer): LogoType {
  return content.subarray(0, PNG.length).equals(PNG) ? 'image/png' : 'image/svg+xml';
}

/** Why it may not be a logo, as the end of a sentence; undefined if it may. */
export function faultOfLogo(content: Buffer): string | undefined {
  if (content.length > LOGO_BYTES) return 'has more than 64 kB';
  return typeOfLogo(content) === 'image/png' ? faultOfPng(content) : faultOfSvg(content);
}

/** The chunks one after the other: nothing may follow the last one. */
function faultOfPng(content: Buffer): string | undefined {
  for (let at = PNG.length; at + AROUND_CHUNK <= content.length; ) {
    const length = content.readUInt32BE(at);
    const name = content.toString('latin1', at + 4, at + 8);
    const data = at + 8;
    if (at === PNG.length) {
      if (name !== 'IHDR' || length !== 13) return 'is a PNG without its header';
      const [width, height] = [content.readUInt32BE(data), content.readUInt32BE(data + 4)];
      if (width > MOST_PIXELS || height > MOST_PIXELS)
        return `has ${width} × ${height} pixels: ${MOST_PIXELS} are the most in each direction`;
    }
    if (name === 'acTL') return 'is animated';
    at += AROUND_CHUNK + length;
    if (name === 'IEND') return at === content.length ? undefined : 'goes on behind the end of the picture';
  }
  return 'is a PNG that ends too early';
}

const SVG_NAMESPACE = 'http://www.w3.org/2000/svg';
/** Declared by most programs that write SVG; what is in it is refused unless it is listed below. */
const XLINK_NAMESPACE = 'http://www.w3.org/1999/xlink';

const SHAPES = ['rect', 'path', 'circle', 'ellipse', 'line', 'polyline', 'polygon'];
const ELEMENTS: ReadonlySet<string> = new Set([
  ...['svg', 'g', 'defs', 'title', 'desc', 'linearGradient', 'radialGradient', 'stop', 'clipPath'],
  ...SHAPES,
]);
const ATTRIBUTES: ReadonlySet<string> = new Set([
  ...['version', 'viewBox', 'preserveAspectRatio', 'width', 'height', 'id', 'role', 'aria-label'],
  ...['x', 'y', 'rx', 'ry', 'cx', 'cy', 'r', 'fx', 'fy', 'x1', 'y1', 'x2', 'y2', 'd', 'points', 'transform'],
  ...['fill', 'fill-rule', 'fill-opacity', 'stroke', 'stroke-width', 'stroke-opacity', 'stroke-linecap'],
  ...['stroke-linejoin', 'stroke-miterlimit', 'stroke-dasharray', 'stroke-dashoffset', 'opacity'],
  ...['gradientUnits', 'gradientTransform', 'spreadMethod', 'offset', 'stop-color', 'stop-opacity'],
  ...['clip-path', 'clip-rule', 'clipPathUnits'],
]);
const OF_GRADIENTS = ['href', 'xlink:href'];
const NAMESPACES: Readonly<Record<string, string>> = { xmlns: SVG_NAMESPACE, 'xmlns:xlink': XLINK_NAMESPACE };

const NAME = '[A-Za-z_][\\w:.-]*';
const VALUE = `"[^"<]*"|'[^'<]*'`;
const TOKEN = new RegExp(
  [
    '<!--(?:(?!--)[\\s\\S])*-->',
    `<(${NAME})((?:\\s+${NAME}\\s*=\\s*(?:${VALUE}))*)\\s*(/?)>`,
    `</(${NAME})\\s*>`,
    '([^<]+)',
  ].join('|'),
  'y',
);
const ATTRIBUTE = new RegExp(`(${NAME})\\s*=\\s*(${VALUE})`, 'g');
const DECLARATION = /^<\?xml version="1\.[01]"(?: encoding="utf-8")?(?: standalone="(?:yes|no)")?\s*\?>/i;
const ENTITIES = /&(?!(?:amp|lt|gt|quot|apos|#\d{1,7}|#x[\da-f]{1,6});)/i;
const PLACE_HERE = /^#[\w.-]+$/;
/** Presentation attributes are read as CSS: these are all functions of it that a drawing needs, and none fetches anything. */
const FUNCTIONS = ['matrix', 'translate', 'scale', 'rotate', 'skewX', 'skewY', 'rgb', 'rgba', 'hsl', 'hsla'];
const URL_HERE = /^url\(#[\w.-]+\)$/;

function faultOfSvg(content: Buffer): string | undefined {
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(content);
  } catch {
    return 'is neither a PNG nor an SVG in UTF-8';
  }
  // XML has none, and terminals that show what was found would obey them.
  if (/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u.test(text)) return 'has a control character';
  const open: string[] = [];
  let isBegun = false;
  const start = DECLARATION.exec(text)?.[0].length ?? 0;
  TOKEN.lastIndex = start;
  while (TOKEN.lastIndex < text.length) {
    const at = TOKEN.lastIndex;
    const token = TOKEN.exec(text);
    if (token === null) return `has something that is not allowed: ${excerpt(text, at)}`;
    const [, begins, attributes = '', closes, ends, words] = token;
    if (begins !== undefined) {
      if (!isBegun && begins !== 'svg') return 'is neither a PNG nor an SVG';
      if (isBegun && (open.length === 0 || begins === 'svg'))
        return `has a second <${begins}> beside the drawing`;
      isBegun = true;
      const fault = faultOfElement(begins, attributes, open.length === 0);
      if (fault !== undefined) return fault;
      if (closes === '') open.push(begins);
    } else if (ends !== undefined) {
      if (open.pop() !== ends) return `has a </${ends}> that closes nothing`;
    } else if (words !== undefined) {
      const isTitle = ['title', 'desc'].includes(open.at(-1) ?? '');
      if (!isBegun && words.trim() !== '') return 'is neither a PNG nor an SVG';
      if (!isTitle && words.trim() !== '') return `has text outside <title>: ${excerpt(words.trim(), 0)}`;
      if (ENTITIES.test(words)) return 'has an entity of its own';
    }
  }
  if (!isBegun) return 'is neither a PNG nor an SVG';
  return open.length === 0 ? undefined : `has no </${open.at(-1)}>`;
}

function faultOfElement(name: string, attributes: string, isRoot: boolean): string | undefined {
  // guard(logo: an SVG has no element that could run or fetch anything): !ELEMENTS.has(name) ⇒ name === ''
  if (!ELEMENTS.has(name)) return `has the element <${name}>, which is not allowed`;
  const seen = new Set<string>();
  for (const [, attribute = '', quoted = ''] of attributes.matchAll(ATTRIBUTE)) {
    const value = quoted.slice(1, -1);
    if (seen.has(attribute)) return `has the attribute ${attribute} twice in one <${name}>`;
    seen.add(attribute);
    const fault = faultOfAttribute(name, attribute, value, isRoot);
    if (fault !== undefined) return fault;
  }
  return isRoot && !seen.has('xmlns') ? 'does not say xmlns="http://www.w3.org/2000/svg"' : undefined;
}

function faultOfAttribute(element: string, name: string, value: string, isRoot: boolean): string | undefined {
  const asWhole = `has ${name}="${excerpt(value, 0)}" at <${element}>, which is not allowed`;
  if (NAMESPACES[name] !== undefined) return isRoot && NAMESPACES[name] === value ? undefined : asWhole;
  if (OF_GRADIENTS.includes(name) && element.endsWith('Gradient'))
    return PLACE_HERE.test(value) ? undefined : asWhole;
  // guard(logo: an SVG has no attribute that could run or fetch anything): !ATTRIBUTES.has(name) ⇒ name === ''
  if (!ATTRIBUTES.has(name)) return `has the attribute ${name} at <${element}>, which is not allowed`;
  const plain = value.trim();
  if (URL_HERE.test(plain)) return undefined;
  const isKnown = [...plain.matchAll(/([^\s,()]*)\s*\(/g)].every(([, called = '']) =>
    FUNCTIONS.includes(called),
  );
  // An escape could spell a function that is not seen here.
  return isKnown && !/[\\&@]/.test(plain) ? undefined : asWhole;
}

const SHOWN = 40;

function excerpt(text: string, at: number): string {
  const shown = text.slice(at, at + SHOWN).replaceAll(/\s+/g, ' ');
  return text.length > at + SHOWN ? `${shown}…` : shown;
}
