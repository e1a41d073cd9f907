// An operator's task. It is declared once, in the folder of its subject. Its command with its help, its route on the console, its
// permission and the page's types follow from that.
import type { Database } from '../postgres/database.js';
import type { OrganisationId } from '../values/ids.js';
import type { Kind } from './kinds.js';

/** From the least to the most powerful: each includes the ones before. */
export const OPERATOR_ROLES = ['viewer', 'operator', 'administrator'] as const;

export type OperatorRole = (typeof OPERATOR_ROLES)[number];

/**
 * What a task concerns. An operator of one organisation may do tasks that concern that organisation, which the request has to name, or
 * nobody. Tasks that concern the whole installation are for operators of the whole installation.
 */
export type Scope = 'organisation' | 'installation' | 'nobody';

/** Who may do a task. */
export interface Permission {
  /** Its command, without options. */
  readonly name: string;
  /** The least role that may run it. Absent: needs no operator, because there may be no database yet. */
  readonly role?: OperatorRole | undefined;
  readonly scope: Scope;
}

/** What an installation can want a second person for, beside money above a limit. */
export const SECOND_PERSON_FOR = ['links', 'exports', 'keys', 'administrators'] as const;

export type SecondPersonFor = (typeof SECOND_PERSON_FOR)[number];

/** What a request names. The organisations that it concerns are looked up from these. */
export interface NamedThings {
  readonly organisations?: readonly number[];
  readonly merchants?: readonly number[];
  readonly users?: readonly string[];
  readonly endpoints?: readonly number[];
  readonly operators?: readonly string[];
}

export interface Field<Value = unknown> {
  readonly kind: Kind<Value>;
  /** On a command line: `<id>` for an argument, `--merchant <id>` for an option. */
  readonly flag: string;
  readonly help: string;
  readonly optional: boolean;
  readonly isNullable?: boolean | undefined;
  /** `--no-acquirer` and its help: unsets a value, or sets a flag to false. */
  readonly without?: readonly [flag: string, help: string] | undefined;
  /** The value of an option that is given without one, such as `--overlap [duration]`. */
  readonly preset?: string | undefined;
  /** The option that may not be given together with this one. */
  readonly excludes?: string | undefined;
  /** For a count: the maximum on the console, and its default there. */
  readonly onPage?: number | undefined;
  readonly default?: Value | undefined;
  /** How the help shows the default. */
  readonly defaultText?: string | undefined;
  readonly names?: keyof NamedThings | undefined;
  /** Optional for the command, required on the console. */
  readonly neededByPage?: boolean | undefined;
  /** Limits the field to the command or to the console. */
  readonly only?: 'command' | 'console' | undefined;
}

type FieldOptions<Value> = Partial<Omit<Field<Value>, 'kind' | 'flag' | 'help' | 'optional' | 'isNullable'>>;

interface Needed<Value> extends Field<Value> {
  readonly optional: false;
}

interface Nullable<Value> extends Field<Value> {
  readonly isNullable: true;
}

interface Defaulted<Value> extends Field<Value> {
  readonly default: Value;
}

/** A required field. */
export function needed<Value>(
  kind: Kind<Value>,
  flag: string,
  help: string,
  options: FieldOptions<Value> = {},
): Needed<Value> {
  return { kind, flag, help, ...options, optional: false };
}

export function optional<Value>(
  kind: Kind<Value>,
  flag: string,
  help: string,
  options: FieldOptions<Value> & { readonly default: Value },
): Defaulted<Value>;
export function optional<Value>(
  kind: Kind<Value>,
  flag: string,
  help: string,
  options?: FieldOptions<Value>,
): Field<Value>;
export function optional<Value>(
  kind: Kind<Value>,
  flag: string,
  help: string,
  options: FieldOptions<Value> = {},
): Field<Value> {
  return { kind, flag, help, ...options, optional: true };
}

/** An optional field that can also be unset: by null in JSON, and by the option `without` on a command line. */
export function nullable<Value>(
  kind: Kind<Value>,
  flag: string,
  help: string,
  options: FieldOptions<Value> = {},
): Nullable<Value> {
  return { kind, flag, help, ...options, optional: true, isNullable: true };
}

// biome-ignore lint/suspicious/noExplicitAny: a field of any value; the values of each are known where it is declared.
export type Fields = Readonly<Record<string, Field<any>>>;

/** The values of the fields, with their defaults. */
export type Given<Input extends Fields> = Asked<Input> & {
  readonly [Name in keyof Input as Input[Name] extends { readonly default: NonNullable<unknown> }
    ? Name
    : never]: ValueOf<Input[Name]>;
};

/** The values in a request, in which defaults may be absent. The console spells their names in snake case: `overlap_ms`. */
export type Asked<Input extends Fields> = {
  readonly [Name in keyof Input as Input[Name]['optional'] extends false ? Name : never]: ValueOf<
    Input[Name]
  >;
} & {
  readonly [Name in keyof Input as Input[Name]['optional'] extends false ? never : Name]?:
    | ValueOf<Input[Name]>
    | undefined;
};

type ValueOf<One> = One extends { readonly kind: Kind<infer Value> }
  ? One extends { readonly isNullable: true }
    ? Value | null
    : Value
  : never;

/** The settings that tasks need. */
export interface TaskSettings {
  /** Undefined: the PostgreSQL that comes with the gateway, in the data directory. */
  readonly databaseUrl: string | undefined;
  readonly dataDir: string;
  readonly environment: 'development' | 'production';
  /** Whether an empty installation gets the demo. */
  readonly demo: boolean;
  /** The simulated acquirer's file. */
  readonly simulatorLedger: string;
  /** Lists the cells of which this installation is one. */
  readonly fleet: { readonly text: string } | { readonly path: string } | undefined;
  /** Where the journal is anchored on this machine. */
  readonly journalAnchorFiles: readonly string[];
  /** After how long without activity a session on the console ends. */
  readonly sessionIdleMs: number;
  /** How many days events are kept. */
  readonly eventDays: number;
  /** After how many days, or seals, a data key is renewed. */
  readonly dataKeyLimits: { readonly days: number; readonly seals: number };
  /** The key provider; and the earlier one, as long as its keys are being moved. */
  readonly keyEncryption: { readonly provider: string };
  readonly previousKeyEncryption: { readonly provider: string } | undefined;
}

/** What a running task is given. */
export interface Doing<Means = unknown> {
  readonly database: Database;
  /** For the journal. */
  readonly actor: string;
  /** The only organisation that the task may show or change; undefined for an operator of the whole installation. */
  readonly fence: OrganisationId | undefined;
  /** What only some tasks need. A command opens it on demand. */
  readonly means: Means;
  readonly settings: TaskSettings;
  /** Shows progress on a terminal. */
  readonly progress: (what: string, unit?: string) => Progress;
  /** Aborted when the client has gone. */
  readonly signal: AbortSignal;
}

/** The same without a database. */
export type DoingAlone<Means = unknown> = Omit<Doing<Means>, 'database' | 'fence'>;

/** `total` is undefined if it is not known. */
export type Progress = (done: number, total?: number) => void;

export type RoutePath = `${'GET' | 'POST'} /${string}`;

type Ground = 'nothing' | 'any schema' | 'as owner';

/** `route`: on the console. Fields that are not in its path are in the query or in the body. */
interface Declared<
  Name extends string,
  Route extends RoutePath | undefined,
  Input extends Fields,
  Result,
  Means,
> extends Permission {
  readonly name: Name;
  /** What the command does, in its help. */
  readonly help: string;
  /** What it runs on, if not on a current schema with the rights of operators' commands. `as owner`: as the owner of the tables. */
  readonly on?: Ground;
  readonly route?: Route;
  /** For what sends money, cards or rights elsewhere: the console asks for a proof of identity, unless there was one in the last five minutes. */
  readonly fresh?: boolean;
  /** Reads all of something, and changes nothing: on the console few such tasks run at a time, and each ends with its asker. */
  readonly long?: boolean;
  /**
   * It waits until a second person has approved it; then the person who asked runs the very same again. `rules`: whatever the rules of
   * this installation say. `when`: not always, but for what is live, for example.
   */
  readonly secondPerson?: {
    readonly for: SecondPersonFor | 'rules';
    readonly when?: (doing: Doing<never>, given: Given<Input>) => Promise<boolean>;
  };
  /** Even if there are operators, an account of the system may run it: scheduled work, and the way back in. */
  readonly byAccount?: boolean;
  /**
   * For a task about an organisation that a request does not have to name: the task itself shows and changes nothing outside `fence`.
   * Without this the console refuses an operator of one organisation who names nothing.
   */
  readonly fenced?: boolean;
  /** Whether it is the default command of its group. */
  readonly isDefault?: boolean;
  readonly input: Input;
  /** Throws a refusal before the command opens the database. */
  readonly checks?: (settings: TaskSettings, given: Given<Input>) => void;
  /** The command's error for fields that contradict each other; undefined if they do not. */
  readonly misfit?: (given: Given<Input>) => string | undefined;
  readonly run: (doing: Doing<Means>, given: Given<Input>) => Promise<Result>;
  /** The command's output for a person. Undefined: the result is a list and shown as a table. */
  readonly says?: (result: Result, given: Given<Input>) => string | undefined;
  /** Whether the command exits with 1. */
  readonly fails?: (result: Result) => boolean;
  /** Whether messages go to standard error, because the task writes its data to standard output. */
  readonly toStderr?: (given: Given<Input>) => boolean;
}

export function task<
  const Name extends string,
  const Input extends Fields,
  Result extends object,
  const Route extends RoutePath | undefined = undefined,
  Means = unknown,
>(declared: Declared<Name, Route, Input, Result, Means>): Declared<Name, Route, Input, Result, Means> {
  return declared;
}

/** A task without its own types, for code that handles all tasks. The values passed to it must have been read by its fields. */
export interface Task<Means> extends Permission {
  readonly help: string;
  readonly on?: Ground;
  readonly route?: RoutePath | undefined;
  readonly fresh?: boolean;
  readonly long?: boolean;
  readonly secondPerson?: {
    readonly for: SecondPersonFor | 'rules';
    when?(doing: Doing<Means>, given: object): Promise<boolean>;
  };
  readonly byAccount?: boolean;
  readonly fenced?: boolean;
  readonly isDefault?: boolean;
  readonly input: Fields;
  checks?(settings: TaskSettings, given: object): void;
  misfit?(given: object): string | undefined;
  run(doing: Doing<Means>, given: object): Promise<object>;
  says?(result: object, given: object): string | undefined;
  fails?(result: object): boolean;
  toStderr?(given: object): boolean;
}

/** Tasks whose commands begin with the same word, or a single task. */
export interface TaskGroup<Means> {
  readonly name: string;
  /** For a group of several tasks. */
  readonly help?: string;
  readonly tasks: readonly Task<Means>[];
}

/** The values of fields that name an organisation, a merchant, a user, an endpoint or an operator. */
export function namedIn(input: Fields, given: object): NamedThings {
  const values = given as Readonly<Record<string, unknown>>;
  const named: { -readonly [Each in keyof NamedThings]?: unknown[] } = {};
  for (const [name, { names }] of Object.entries(input))
    if (names !== undefined && values[name] !== undefined && values[name] !== null)
      named[names] = [...(named[names] ?? []), ...[values[name]].flat()];
  return named as NamedThings;
}
