// Asks a gateway on this machine whether it is live or ready: for health checks, and for scripts that start it.
import { get } from 'node:http';
import { get as getByTls } from 'node:https';
import { setTimeout as sleep } from 'node:timers/promises';

export type Question = 'ready' | 'live';

/** The image's health check has five seconds, including its start. */
const ANSWER_WITHIN_MS = 2_000;
const PAUSE_MS = 200;
/** The local address of a gateway that listens on every interface. */
const FROM_HERE: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '::1' };

interface Address {
  readonly host: string;
  readonly port: number;
  readonly path: string;
  readonly overTls: boolean;
}

/** Undefined for yes, otherwise the reason. Repeats until yes, or until the time is up. */
export async function probe(
  { host, port, tls }: { host: string; port: number; tls?: object | undefined },
  question: Question,
  withinMs: number,
): Promise<string | undefined> {
  const untilMs = performance.now() + withinMs;
  for (;;) {
    const overTls = tls !== undefined;
    const why = await ask({ host: FROM_HERE[host] ?? host, port, path: `/${question}z`, overTls });
    if (why === undefined || performance.now() >= untilMs) return why;
    await sleep(PAUSE_MS);
  }
}

/** The same of a gateway anywhere, once. */
export function probeReadiness({ host, port, overTls }: Omit<Address, 'path'>): Promise<string | undefined> {
  return ask({ host, port, path: '/readyz', overTls });
}

async function ask(address: Address): Promise<string | undefined> {
  try {
    const { status, body } = await answerOf(address);
    return status === 200 ? undefined : (reasonIn(body) ?? `HTTP status ${status}`);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return code === 'ECONNREFUSED' ? 'nothing listens' : (code ?? message);
  }
}

/** Nothing secret is sent, and the certificate is for another name than this machine's. */
const UNSEEN = { rejectUnauthorized: false };

function answerOf({ overTls, ...address }: Address): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const request = (overTls ? getByTls : get)(
      { ...address, ...UNSEEN, agent: false, signal: AbortSignal.timeout(ANSWER_WITHIN_MS) },
      (response) => {
        let body = '';
        response
          .setEncoding('utf8')
          .on('data', (text: string) => {
            body += text;
          })
          .on('error', reject)
          .on('end', () => resolve({ status: response.statusCode ?? 0, body }));
      },
    );
    request.on('error', reject);
  });
}

function reasonIn(body: string): string | undefined {
  try {
    const { reason } = JSON.parse(body) as { reason?: unknown };
    return typeof reason === 'string' ? reason : undefined;
  } catch {
    return undefined;
  }
}
