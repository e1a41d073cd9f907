// The time of now as ISO 8601 has it, for lines of the log: many are of the same millisecond.

let atMs = 0;
let text = '';

export function isoNow(): string {
  const nowMs = Date.now();
  if (nowMs !== atMs) {
    atMs = nowMs;
    text = new Date(nowMs).toISOString();
  }
  return text;
}
