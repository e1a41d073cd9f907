// Calls of the console's interface: JSON there and back, problems as errors.
import type { ReadRoutes } from '../../../src/console/interface.js';
import { Problem, problemOf, unreachable } from './problem.js';

const ROOT = '/console/api';

export type QueryValues = Readonly<Record<string, string | number | boolean | null | undefined>>;
export type PathValues = Readonly<Record<string, string | number>>;

/** Called whenever an answer says that the session has ended. */
let signedOut: () => void = () => {};
export function whenSignedOut(listener: () => void): void {
  signedOut = listener;
}

export function addressOf(path: string, params: PathValues = {}, query: QueryValues = {}): string {
  const filled = path.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(String(params[name])));
  return `${ROOT}${withQuery(filled, query)}`;
}

export function withQuery(path: string, query: QueryValues): string {
  const given = Object.entries(query).filter(
    ([, value]) => value !== undefined && value !== null && value !== '',
  );
  const search = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return search === '' ? path : `${path}?${search}`;
}

export interface Place {
  readonly params?: PathValues;
  readonly query?: QueryValues;
}

/** The answer of a route. */
export function read<Route extends keyof ReadRoutes>(
  route: Route,
  { params, query }: Place = {},
  signal?: AbortSignal,
): Promise<ReadRoutes[Route]['answer']> {
  const path = route.slice('GET '.length);
  return call(addressOf(path, params, query), signal === undefined ? {} : { signal });
}

/** By the path behind the interface's root. */
export function get<Answer>(path: string): Promise<Answer> {
  return call(`${ROOT}${path}`, {});
}

export function post<Answer = unknown>(path: string, body: object = {}): Promise<Answer> {
  return call(`${ROOT}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
}

export function postFile<Answer = unknown>(path: string, file: Blob): Promise<Answer> {
  return call(`${ROOT}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/octet-stream' },
    body: file,
  });
}

export interface Saved {
  readonly name: string;
  readonly content: Blob;
}

/** A file, for the browser to keep. */
export async function getFile(path: string): Promise<Saved> {
  const response = await answered(`${ROOT}${path}`, {});
  const [, name = 'file'] =
    /filename="([^"]+)"/.exec(response.headers.get('content-disposition') ?? '') ?? [];
  return { name, content: await response.blob() };
}

async function call<Answer>(address: string, request: RequestInit): Promise<Answer> {
  const response = await answered(address, request);
  if (response.status === 204) return undefined as Answer;
  return (await response.json().catch(() => {
    throw new Problem(response.status, 'answer_unreadable', 'The gateway’s answer cannot be read.');
  })) as Answer;
}

/** Whether the operator has been active since the last request that said so. */
let isTouched = true;
for (const kind of ['pointerdown', 'keydown'])
  addEventListener(
    kind,
    () => {
      isTouched = true;
    },
    { capture: true, passive: true },
  );

/** Background requests do not keep a session alive. */
function byWhom(method: string | undefined): Record<string, string> {
  if (method === undefined && !isTouched) return { 'tollgate-background': 'true' };
  isTouched = false;
  return {};
}

async function answered(address: string, request: RequestInit): Promise<Response> {
  const { method, headers } = request;
  const said = {
    ...request,
    headers: { ...headers, ...byWhom(method) },
    credentials: 'same-origin',
  } as const;
  const response = await fetch(address, said).catch((error: unknown) => {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    throw unreachable();
  });
  if (response.ok) return response;
  const problem = await problemOf(response);
  if (problem.code === 'not_signed_in') signedOut();
  throw problem;
}
