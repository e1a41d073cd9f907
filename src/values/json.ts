// Reads JSON, refusing duplicate members. Some readers take the first of two and some the last, and they would disagree about money.

const QUOTE = 34;
const BACKSLASH = 92;
const COLON = 58;

/** Throws if the text is not JSON or has a duplicate member. The error may quote the text. */
export function parseJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  // Of two members with one name the value keeps one. JSON.parse has compared the names with escapes resolved.
  // guard(body: no member stands twice in one object): !== ⇒ <
  if (membersWritten(text) !== membersKept(value)) throw new SyntaxError('a member stands twice');
  return value;
}

/** Every member has one colon, and no other colon stands outside strings. The text is known to be JSON. */
function membersWritten(text: string): number {
  let members = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) at = endOfString(text, at + 1);
    else if (code === COLON) members += 1;
  }
  return members;
}

function endOfString(text: string, from: number): number {
  let at = from;
  for (let code = text.charCodeAt(at); code !== QUOTE; code = text.charCodeAt(at)) {
    at += code === BACKSLASH ? 2 : 1;
  }
  return at;
}

/** No recursion: the body may be nested deeper than the stack. */
function membersKept(value: unknown): number {
  let members = 0;
  const unseen = [value];
  while (unseen.length > 0) {
    const next = unseen.pop();
    if (Array.isArray(next)) {
      for (const one of next) if (isNested(one)) unseen.push(one);
    } else if (isNested(next)) {
      // All own members: nothing enumerable is inherited, and `__proto__` is a member like any other.
      for (const name in next) {
        members += 1;
        if (isNested(next[name])) unseen.push(next[name]);
      }
    }
  }
  return members;
}

function isNested(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
