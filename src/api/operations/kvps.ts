// The KVPs that a client sends: text that is kept and given back, and nothing that the gateway computes with.
import type { Kvps } from '../../payments/transaction.js';
import { bareKvpKey, KVP_REQUEST_PREFIX, KVPS_AT_MOST } from '../../values/text.js';
import { type Problem, problem } from '../problems.js';
import { shownKey } from '../validation.js';

/** Their keys without the gateway's prefix. */
export function kvpsOf(sent: Readonly<Record<string, string>> | undefined): Kvps {
  // Without a prototype: a key may have any name.
  const kvps: Record<string, string> = Object.create(null);
  for (const key in sent) {
    kvps[bareKvpKey(key)] = sent[key] as string;
  }
  return kvps;
}

/** What the schema cannot say about them: one key in two spellings, of which only one could be kept. */
export function reviewKvps(body: unknown, problems: Problem[]): Problem[] {
  const kvps = (body as { kvps?: unknown } | null | undefined)?.kvps;
  if (typeof kvps !== 'object' || kvps === null) return problems;
  const keys = Object.keys(kvps);
  // Too many are refused for their number alone.
  if (keys.length > KVPS_AT_MOST || !keys.some((key) => key.startsWith(KVP_REQUEST_PREFIX))) return problems;
  const seen = new Set(keys.filter((key) => !key.startsWith(KVP_REQUEST_PREFIX)));
  const again = keys.filter((key) => {
    const bare = bareKvpKey(key);
    return bare !== key && seen.size === seen.add(bare).size;
  });
  return [...problems, ...again.map(inTwoSpellings)];
}

function inTwoSpellings(key: string): Problem {
  return problem('field_format', ['body', 'kvps', shownKey(key)], 'This key was sent in two spellings.');
}
