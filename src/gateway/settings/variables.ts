// The environment variables that settings are read from: each by its name, or from the file that `…_FILE` names. A variable
// with a setting's prefix that nothing has read was misspelt.
import { readFileSync, statSync } from 'node:fs';
import { nearest } from '../../values/nearest.js';

export class SettingsError extends Error {}

export type Environment = Readonly<Record<string, string | undefined>>;

/** A secret's file that others can read. */
export interface OpenSecret {
  /** The setting that names the file. */
  readonly setting: string;
  /** In octal digits. */
  readonly mode: string;
}

/** The text itself, or its file, which may be replaced while the gateway runs. */
export type Source = { readonly text: string } | { readonly path: string };

const OTHERS_CAN_READ = 0o004;
const PREFIX = 'TOLLGATE_';
/** What took the place of settings that were. */
const ENDED: Readonly<Record<string, string>> = {
  TOLLGATE_FOUR_EYES_ABOVE:
    'the limit is in the database: unset it, and run `tollgate approval require --above AUD=CENTS`',
  TOLLGATE_OPERATOR: 'commands take a token that the console gives, in TOLLGATE_OPERATOR_TOKEN',
};
const IN_A_FILE = '_FILE';
/** For tests: how they run, and the variable that the embedded PostgreSQL reads. */
const OF_TESTS = /^TOLLGATE_(TEST_.+|POSTGRES_AS)$/;
/** For clients, which may run in the same shell: where and as whom they call. */
const OF_CLIENTS = /^TOLLGATE_CLIENT_.+$/;
/** Variables that Kubernetes sets in every container for a Service whose name begins with "tollgate". */
const OF_KUBERNETES =
  /^TOLLGATE_(.+_)?(SERVICE_HOST|SERVICE_PORT(_.+)?|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$/;
const ADDRESS_OF_KUBERNETES = /^(tcp|udp|sctp):\/\//;

export class Variables {
  readonly #asked = new Set<string>();
  readonly openSecrets: OpenSecret[] = [];

  constructor(private readonly values: Environment) {}

  /** The variable itself, or the content of the file that `…_FILE` names; an empty one counts as absent. */
  text(name: string): string | undefined {
    const source = this.source(name);
    if (source === undefined || 'text' in source) return source?.text;
    try {
      return readFileSync(source.path, 'utf8').trim();
    } catch (error) {
      throw new SettingsError(
        `${name}_FILE: ${source.path} cannot be read (${(error as NodeJS.ErrnoException).code})`,
      );
    }
  }

  /** The same for a caller that reads the file repeatedly later. */
  source(name: string): Source | undefined {
    this.#asked.add(name);
    const text = this.values[name];
    const path = this.values[name + IN_A_FILE];
    if (text && path) throw new SettingsError(`${name} and ${name}_FILE are both set`);
    if (path) return { path };
    return text ? { text } : undefined;
  }

  /** The same for a secret. Remembers a file that others can read. */
  secret(name: string): string | undefined {
    const text = this.text(name);
    const setting = name + IN_A_FILE;
    const file = this.values[setting];
    if (!file || process.platform === 'win32') return text;
    const mode = statSync(file).mode & 0o777;
    if ((mode & OTHERS_CAN_READ) !== 0) this.openSecrets.push({ setting, mode: mode.toString(8) });
    return text;
  }

  isSet(name: string): boolean {
    return Boolean(this.values[name] || this.values[name + IN_A_FILE]);
  }

  /** `besides`: another permitted value, for the error message. */
  integer(name: string, otherwise: number, least: number, most: number, besides?: string): number {
    const text = this.text(name);
    if (text === undefined) return otherwise;
    const value = Number(text);
    if (!/^[0-9]+$/.test(text) || value < least || value > most) {
      const because = ADDRESS_OF_KUBERNETES.test(text)
        ? '; Kubernetes sets it for a Service of that name, unless the pod has enableServiceLinks: false'
        : '';
      const or = besides === undefined ? '' : `, or ${besides}`;
      throw new SettingsError(`${name} must be a whole number from ${least} to ${most}${or}${because}`);
    }
    return value;
  }

  choice<Choice extends string>(
    name: string,
    choices: readonly Choice[],
    otherwise: NoInfer<Choice>,
  ): Choice {
    const text = this.text(name) ?? otherwise;
    const chosen = choices.find((choice) => choice === text);
    if (chosen === undefined) throw new SettingsError(`${name} must be one of ${choices.join(', ')}`);
    return chosen;
  }

  /** Settings, too, although nothing has read them this time. */
  alsoKnown(...names: readonly string[]): void {
    for (const name of names) this.#asked.add(name);
  }

  /** Call after everything has been read. */
  refuseMisspelt(): void {
    const lines = Object.keys(this.values)
      .filter((name) => this.#isMisspelt(name))
      .map((name) => `${name} is no setting; ${this.#advice(name)}`);
    if (lines.length > 0) throw new SettingsError(lines.join('\n'));
  }

  #isMisspelt(name: string): boolean {
    if (!name.toUpperCase().startsWith(PREFIX)) return false;
    // On Windows, names of variables are case-insensitive.
    const found = process.platform === 'win32' ? name.toUpperCase() : name;
    if (this.#asked.has(found) || this.#asked.has(found.replace(/_FILE$/, ''))) return false;
    if ([OF_TESTS, OF_CLIENTS, OF_KUBERNETES].some((pattern) => pattern.test(found))) return false;
    const value = this.values[name] ?? '';
    return value !== '' && !ADDRESS_OF_KUBERNETES.test(value);
  }

  #advice(name: string): string {
    const bare = (setting: string) => setting.replace(PREFIX, '');
    const upper = name.toUpperCase();
    const instead = ENDED[upper];
    if (instead !== undefined) return instead;
    const ending = upper.endsWith(IN_A_FILE) ? IN_A_FILE : '';
    const wanted = bare(upper.slice(0, upper.length - ending.length));
    const meant = nearest(wanted, [...this.#asked].map(bare));
    const setting = [...this.#asked].find((known) => bare(known) === meant);
    return setting === undefined
      ? 'unset it, or look its name up in docs/operations.md'
      : `did you mean ${setting}${ending}?`;
  }
}
