// The journal of tasks that operators were refused: the first of each operator and task at once, and the further ones of a minute as one
// entry, so that nobody fills the journal by asking.
import type { JournalEntry } from '../journal/entry.js';
import { journal } from '../journal/journal.js';
import type { Database } from '../postgres/database.js';

const MINUTE_MS = 60_000;

type RefusedTask = Pick<JournalEntry, 'organisationId'> & {
  readonly operator: string;
  /** Method and path of the route. */
  readonly task: string;
};

interface Counted {
  readonly database: Database;
  readonly refused: RefusedTask;
  readonly timer: NodeJS.Timeout;
  further: number;
}

export class RefusalJournal {
  readonly #counted = new Map<string, Counted>();

  constructor(private readonly onError: (error: unknown) => void) {}

  /** `database`: with the address of the request. */
  async note(database: Database, refused: RefusedTask): Promise<void> {
    const key = `${refused.operator} ${refused.task}`;
    const counted = this.#counted.get(key);
    // guard(console: refusals do not fill the journal): if (counted !== undefined) ⇒ if (counted !== undefined && key === '')
    if (counted !== undefined) {
      counted.further += 1;
      return;
    }
    const timer = setTimeout(() => void this.#end(key), MINUTE_MS).unref();
    this.#counted.set(key, { database, refused, timer, further: 0 });
    await write(database, refused, refused.task);
  }

  /** Writes what was counted. */
  async close(): Promise<void> {
    await Promise.all([...this.#counted.keys()].map((key) => this.#end(key)));
  }

  async #end(key: string): Promise<void> {
    const counted = this.#counted.get(key);
    this.#counted.delete(key);
    if (counted === undefined) return;
    const { database, refused, timer, further } = counted;
    clearTimeout(timer);
    if (further === 0) return;
    await write(database, refused, `${refused.task}, ${further} more times within a minute`).catch(
      this.onError,
    );
  }
}

function write(database: Database, { operator, organisationId }: RefusedTask, detail: string): Promise<void> {
  return journal(database, {
    actor: `operator:${operator}`,
    action: 'operator.refused',
    organisationId,
    detail,
  });
}
