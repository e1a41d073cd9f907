// How a route is registered: who may call it, what it takes, and what it does. Everything that keeps others out is done by the
// dispatcher, the same way for all of them.
import { Readable } from 'node:stream';
import type { Static, TSchema } from '../api/typebox.js';
import type { Session } from '../operators/sessions.js';
import type { Database } from '../postgres/database.js';
import type { OperatorRole, Permission } from '../tasks/task.js';
import type { OrganisationId } from '../values/ids.js';
import type { ConsoleParts } from './parts.js';

/** The names behind colons in a path, and what stood there. */
export type Params<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? { readonly [Key in Name]: string } & Params<`/${Rest}`>
  : Path extends `${string}:${infer Name}`
    ? { readonly [Key in Name]: string }
    : object;

export interface Operator {
  readonly name: string;
  readonly role: OperatorRole;
  /** Undefined: of the whole installation. */
  readonly organisation: OrganisationId | undefined;
}

/** What a browser sends with a file that was dropped on the page. It is removed when the route is done. */
export interface UploadedFile {
  readonly path: string;
  readonly bytes: number;
}

/** The session of the answer. */
export interface SessionCookie {
  /** What the browser keeps from now on. */
  set(token: string): void;
  /** By which the browser is known again at its next sign-in. */
  setDevice(device: string): void;
  /** What it keeps for a few minutes, while another page asks who it is. That page may send it back here. */
  keep(kept: string): void;
  clearKept(): void;
  clear(): void;
}

export interface OpenCall<Path extends string = string, Body = unknown> {
  readonly params: Params<Path>;
  readonly query: URLSearchParams;
  readonly body: Body;
  /** With the rights of operators' commands. What is journalled through it has the address of the request. */
  readonly database: Database;
  readonly parts: ConsoleParts;
  readonly address: string;
  /** What the browser calls itself. */
  readonly agent: string;
  /** By which the browser is known from an earlier sign-in. */
  readonly device: string | undefined;
  /** What it was given by `cookie.keep`. */
  readonly kept: string | undefined;
  /** Of the page, for example `https://console.example`. */
  readonly origin: string;
  readonly cookie: SessionCookie;
  /** Aborted when the browser has gone. */
  readonly signal: AbortSignal;
  /** Undefined where nobody is signed in. */
  readonly session: Session | undefined;
}

export interface Call<Path extends string = string, Body = unknown> extends OpenCall<Path, Body> {
  readonly operator: Operator;
  /** For the journal: `operator:NAME`. */
  readonly actor: string;
  /**
   * The only organisation that may be shown or changed; undefined for those of the whole installation. A route whose path, query or body
   * names an `organisation` or a `merchant` is called only if that lies inside.
   */
  readonly fence: OrganisationId | undefined;
  readonly session: Session;
}

interface Common<Path extends string, Body extends TSchema> {
  readonly method: 'GET' | 'POST';
  /** Behind `/console/api`. */
  readonly path: Path;
  /** Of the JSON that a POST sends. Without one it sends `{}` or nothing. */
  readonly body?: Body;
}

/** Whom a route is for: those who may do a task; or, where no command does the same, by a role. */
export type Rights =
  | { readonly permission: Permission; readonly role?: never; readonly scope?: never }
  | {
      /** The least that an operator must be. */
      readonly role: OperatorRole;
      /** `organisation`: the route keeps within `call.fence`. `installation`: only for operators of the whole installation. */
      readonly scope: 'organisation' | 'installation';
      readonly permission?: never;
    };

export type RouteOptions<Path extends string = string, Body extends TSchema = TSchema> = Common<Path, Body> &
  Rights &
  Further;

interface Further {
  /** For what sends money, cards or rights elsewhere: the operator proved who they are in the last five minutes. */
  readonly recent?: boolean;
  /** A page asks for it by itself: nobody stays signed in by it. */
  readonly background?: boolean;
  /** Reads all of something, and changes nothing. */
  readonly long?: boolean;
  /** Takes a file instead of JSON, of this many bytes at most. */
  readonly fileBytes?: number;
}

export interface OpenRouteOptions<Path extends string = string, Body extends TSchema = TSchema>
  extends Common<Path, Body> {
  /** `enrolling`: whoever has opened a link, and is about to say how they will sign in. */
  readonly for: 'anyone' | 'enrolling';
  /** Another site may send the browser here. */
  readonly fromElsewhere?: boolean;
}

export type Route =
  | { readonly kind: 'closed'; readonly options: RouteOptions; readonly handle: (call: Call) => unknown }
  | {
      readonly kind: 'open';
      readonly options: OpenRouteOptions;
      readonly handle: (call: OpenCall) => unknown;
    };

/**
 * What it returns is answered as JSON, 204 where that is undefined; a `Download` or an `EventStream` as what it is. What it throws is
 * answered as an error: a `Refusal`, a `Fault`, a `ConsoleProblem`.
 */
export function route<const Path extends string, Body extends TSchema>(
  options: RouteOptions<Path, Body>,
  handle: (call: Call<Path, Static<Body>>) => unknown,
): Route {
  return { kind: 'closed', options, handle: handle as (call: Call) => unknown };
}

/** The same that takes a file, which lies on the disk while it is called. */
export function fileRoute<const Path extends string>(
  options: { readonly path: Path; readonly recent?: boolean; readonly fileBytes: number } & Rights,
  handle: (call: Call<Path, UploadedFile>) => unknown,
): Route {
  return {
    kind: 'closed',
    options: { ...options, method: 'POST' },
    handle: handle as (call: Call) => unknown,
  };
}

/** One that is there for those who are not signed in yet. */
export function openRoute<const Path extends string, Body extends TSchema>(
  options: OpenRouteOptions<Path, Body>,
  handle: (call: OpenCall<Path, Static<Body>>) => unknown,
): Route {
  return { kind: 'open', options, handle: handle as (call: OpenCall) => unknown };
}

/** The least role that a route takes, and whether it concerns one organisation or all. */
export function needs({ permission, role, scope }: RouteOptions): {
  readonly role: OperatorRole;
  readonly isOfInstallation: boolean;
} {
  const needed = permission ?? { role, scope };
  return { role: needed.role ?? 'administrator', isOfInstallation: needed.scope === 'installation' };
}

/** A file for the browser to keep. */
export class Download {
  readonly content: Readable;

  constructor(
    readonly name: string,
    readonly type: string,
    content: Iterable<string | Buffer> | AsyncIterable<string | Buffer>,
  ) {
    this.content = Readable.from(content, { objectMode: true });
  }
}

/** Sends the browser to another site. */
export class Redirect {
  constructor(readonly url: string) {}
}

/** A page that leads to a place of the console by itself, as if it had been clicked there. */
export class Onward {
  constructor(readonly path: string) {}
}

/** Server-sent events: each value that comes is sent as JSON, until the browser goes or the session ends. */
export class EventStream {
  constructor(readonly values: AsyncIterable<unknown>) {}
}
