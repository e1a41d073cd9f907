// Colours that can be read: contrast as WCAG 2 counts it.

export const COLOUR_PATTERN = '^#[0-9a-f]{6}$';
const pattern = new RegExp(COLOUR_PATTERN);

/** What text needs on its ground. */
const READABLE = 4.5;
const STEPS = 20;
const BLACK = '#000000';
const WHITE = '#ffffff';

/** As `#rrggbb`, in lower case. */
export function isColour(text: string): boolean {
  return pattern.test(text);
}

export function contrast(one: string, other: string): number {
  const [lighter, darker] = [luminance(one), luminance(other)].toSorted((a, b) => b - a) as [number, number];
  return (lighter + 0.05) / (darker + 0.05);
}

/** The colour; where it cannot be read on this ground, the nearest one towards black or white that can. */
export function readableOn(ground: string, colour: string): string {
  const end = contrast(BLACK, ground) >= contrast(WHITE, ground) ? BLACK : WHITE;
  for (let step = 0; step < STEPS; step++) {
    const mixed = mix(colour, end, step / STEPS);
    if (contrast(mixed, ground) >= READABLE) return mixed;
  }
  return end;
}

function mix(colour: string, other: string, share: number): string {
  const others = partsOf(other);
  const mixed = partsOf(colour).map((part, index) => part + ((others[index] as number) - part) * share);
  return `#${mixed.map((part) => Math.round(part).toString(16).padStart(2, '0')).join('')}`;
}

function luminance(colour: string): number {
  const [red, green, blue] = partsOf(colour).map((part) => {
    const value = part / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function partsOf(colour: string): number[] {
  return [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16));
}
