// Formats a log line for a person at a terminal.
//
// Why not pino-pretty: it brings 17 more packages into every installation for these few lines. It also prints control characters
// unescaped, so that a crafted message could move the operator's cursor.

const COLOURS: Readonly<Record<string, string>> = { info: '32', warn: '33', error: '31' };
const OTHER_COLOUR = '36';
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it looks for
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/;

/** Takes a line as pino writes it. */
export function readableLine(json: string): string {
  const { level, time, msg = '', ...rest } = JSON.parse(json) as Record<string, unknown>;
  const fields = Object.entries(rest).map(([name, value]) => `${name}=${shown(value)}`);
  const colour = COLOURS[String(level)] ?? OTHER_COLOUR;
  const parts = [String(time).slice(11, 23), `\u001b[${colour}m${level}\u001b[0m`, shown(msg), ...fields];
  return `${parts.filter((part) => part !== '').join(' ')}\n`;
}

function shown(value: unknown): string {
  const plain = typeof value === 'string' ? !CONTROL.test(value) : typeof value !== 'object';
  return plain ? String(value) : escaped(value);
}

/** JSON does not escape the control characters above ASCII. */
function escaped(value: unknown): string {
  return JSON.stringify(value).replace(
    /[\u007f-\u009f]/g,
    (character) => `\\u00${character.charCodeAt(0).toString(16)}`,
  );
}
