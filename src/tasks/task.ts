// What operators can do. Each thing is declared once, in the room of its subject: its command with its help, its route on the console, who
// may do it, and what the page knows of it follow from that.
import type { Database } from '../postgres/database.js';
import type { OrganisationId } from '../values/ids.js';
import type { Kind } from './kinds.js';

/** Each may do what those before it may. */
export const OPERATOR_ROLES = ['viewer', 'operator', 'administrator'] as const;

export type OperatorRole = (typeof OPERATOR_ROLES)[number];

/**
 * Whom a task concerns. An operator of one organisation does only what concerns that one, and what concerns nobody; whoever asks names
 * the organisations. What concerns the whole installation is left to operators of the whole installation.
 */
export type Scope = 'organisation' | 'installation' | 'nobody';

/** Who may do a task. */
export interface Permission {
  /** The words of its command. */
  readonly name: string;
  /** The least role that may. Absent: no operator is asked for. Whoever starts the gateway, or has no database yet, may. */
  readonly role?: OperatorRole | undefined;
  readonly scope: Scope;
}

/** What a task names, by which the organisations that it concerns are known. */
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
  /** `--no-acquirer` and its help: takes away what can be taken away, and is false for a flag. */
  readonly without?: readonly [flag: string, help: string] | undefined;
  /** The text that an option stands for which is given without a value: `--overlap [duration]`. */
  readonly preset?: string | undefined;
  /** The flag that it contradicts. */
  readonly excludes?: string | undefined;
  /** Of a count: how many a page gets that does not ask for fewer. */
  readonly onPage?: number | undefined;
  readonly default?: Value | undefined;
  /** How the help writes it. */
  readonly defaultText?: string | undefined;
  readonly names?: keyof NamedThings | undefined;
  /** Of one that a command can do without. */
  readonly neededByPage?: boolean | undefined;
  /** Where it can be given, if not everywhere. */
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

/** What a task cannot do without. */
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

/** What can be taken away as well: by null in JSON, and by the option `without` on a command line. */
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

/** What is given for the fields, with their defaults. */
export type Given<Input extends Fields> = Asked<Input> & {
  readonly [Name in keyof Input as Input[Name] extends { readonly default: NonNullable<unknown> }
    ? Name
    : never]: ValueOf<Input[Name]>;
};

/** What is asked for: defaults may be left out. A body or a query of the console spells the names `overlap_ms`. */
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

/** What tasks need of the settings of the installation. */
export interface TaskSettings {
  /** Undefined: the PostgreSQL that comes with the gateway, in the data directory. */
  readonly databaseUrl: string | undefined;
  readonly dataDir: string;
  readonly environment: 'development' | 'production';
  /** Whether the demo is made where there is nothing yet. */
  readonly demo: boolean;
  /** The simulated acquirer's file. */
  readonly simulatorLedger: string;
  /** After how long without activity a session on the console ends. */
  readonly sessionIdleMs: number;
  /** For how many days events are kept. */
  readonly eventDays: number;
  /** After how many days, and how many seals, a data key is renewed. */
  readonly dataKeyLimits: { readonly days: number; readonly seals: number };
  /** Who wraps data keys; and who did so before, while the other takes their place. */
  readonly keyEncryption: { readonly provider: string };
  readonly previousKeyEncryption: { readonly provider: string } | undefined;
}

/** With what a task is done. */
export interface Doing<Means = unknown> {
  readonly database: Database;
  /** For the journal. */
  readonly actor: string;
  /** The only organisation that may be shown or changed; undefined for those of the whole installation. */
  readonly fence: OrganisationId | undefined;
  /** What few tasks need. A command opens it when it is asked for. */
  readonly means: Means;
  readonly settings: TaskSettings;
  /** For whoever waits at a terminal: how far the task has come. */
  readonly progress: (what: string, unit?: string) => Progress;
  /** Aborted when nobody waits for the result any more. */
  readonly signal: AbortSignal;
}

/** The same without a database. */
export type DoingAlone<Means = unknown> = Omit<Doing<Means>, 'database' | 'fence'>;

/** Without a total where nobody knows it. */
export type Progress = (done: number, total?: number) => void;

export type RoutePath = `${'GET' | 'POST'} /${string}`;

type Ground = 'nothing' | 'any schema' | 'as owner';

/** `route`: of the console. What its path does not name is in the query or in the body. */
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
  /** On what, if not on a current schema with the rights of operators' commands. `as owner`: of the tables. */
  readonly on?: Ground;
  readonly route?: Route;
  /** For what sends money, cards or rights elsewhere: on the console the operator proved who they are in the last five minutes. */
  readonly fresh?: boolean;
  /**
   * Of a task of an organisation whose fields may name none: it shows and changes nothing outside `fence`. Otherwise the console lets an
   * operator of one organisation do it only to what is named.
   */
  readonly fenced?: boolean;
  /** Whether the command of its group does it where no other is named. */
  readonly isDefault?: boolean;
  readonly input: Input;
  /** Refuses what the command refuses before it opens the database. */
  readonly checks?: (settings: TaskSettings, given: Given<Input>) => void;
  /** What the command says of fields that do not fit each other; undefined where they do. */
  readonly misfit?: (given: Given<Input>) => string | undefined;
  readonly run: (doing: Doing<Means>, given: Given<Input>) => Promise<Result>;
  /** What the command says to a person; a list is shown as a table where it says nothing. */
  readonly says?: (result: Result, given: Given<Input>) => string | undefined;
  /** Whether the command ends with 1. */
  readonly fails?: (result: Result) => boolean;
  /** Whether the command leaves standard output to what it writes there. */
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

/** Any of them, for what follows from all alike. What is given has to fit its fields, and is what these were read to. */
export interface Task<Means> extends Permission {
  readonly help: string;
  readonly on?: Ground;
  readonly route?: RoutePath | undefined;
  readonly fresh?: boolean;
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

/** Tasks whose commands begin with the same word, or the only one that is called so. */
export interface TaskGroup<Means> {
  readonly name: string;
  /** Of several. */
  readonly help?: string;
  readonly tasks: readonly Task<Means>[];
}

/** What is given for fields that name something. */
export function namedIn(input: Fields, given: object): NamedThings {
  const values = given as Readonly<Record<string, unknown>>;
  const named: { -readonly [Each in keyof NamedThings]?: unknown[] } = {};
  for (const [name, { names }] of Object.entries(input))
    if (names !== undefined && values[name] !== undefined && values[name] !== null)
      named[names] = [...(named[names] ?? []), ...[values[name]].flat()];
  return named as NamedThings;
}
