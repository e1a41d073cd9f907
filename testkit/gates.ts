// Gates in a test's database: a process stops just before it changes a table, so that it can be killed exactly there.
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { RunningProcess } from './gateway-process.js';

/** The changes before which a process can be stopped. */
const GATES = {
  'making a file': 'INSERT ON directdebit_file FOR EACH STATEMENT',
  'marking a file': 'UPDATE ON directdebit_file FOR EACH STATEMENT',
  'changing items': 'UPDATE ON directdebit_item FOR EACH STATEMENT',
  // The resolver of a gateway is here many times in a second, with nothing to change.
  'changing transactions': `UPDATE ON transaction FOR EACH ROW WHEN (NEW.bank_account IS NOT NULL)`,
  'writing the journal': 'INSERT ON journal FOR EACH STATEMENT',
} as const;

export type Gate = keyof typeof GATES;

const LOCKS = 4_711;
const numberOf = (gate: Gate) => Object.keys(GATES).indexOf(gate);

export interface Gates {
  /** Waits until so many processes stand at the gate, runs something, and then releases them all at once. */
  gather(gate: Gate, processes: readonly RunningProcess[], meanwhile?: () => Promise<void>): Promise<void>;
  /** Starts a process, and kills it with `kill -9` at the gate, after so many of its transactions have passed. */
  killAt(
    gate: Gate,
    start: () => RunningProcess | Promise<RunningProcess>,
    options?: { passes?: number; meanwhile?: () => Promise<void> },
  ): Promise<void>;
  /** No gate stops this one. */
  sql(text: string): Promise<Record<string, unknown>[]>;
  close(): Promise<void>;
}

export async function gatesOf(databaseUrl: string): Promise<Gates> {
  const client = new pg.Client({ connectionString: databaseUrl });
  // Its database is dropped with force.
  client.on('error', () => {});
  await client.connect();
  await client.query(`
    CREATE FUNCTION gate() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN PERFORM pg_advisory_xact_lock_shared(${LOCKS}, TG_ARGV[0]::integer); RETURN NEW; END $$`);
  for (const [gate, event] of Object.entries(GATES)) {
    const number = numberOf(gate as Gate);
    await client.query(`CREATE TRIGGER gate_${number} BEFORE ${event} EXECUTE FUNCTION gate(${number})`);
  }
  const sql = async (text: string): Promise<Record<string, unknown>[]> => (await client.query(text)).rows;
  const shut = (gate: Gate) => sql(`SELECT pg_advisory_lock(${LOCKS}, ${numberOf(gate)})`);
  const open = () => sql('SELECT pg_advisory_unlock_all()');
  const stopped = (gate: Gate) =>
    sql(`SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND classid = ${LOCKS}
         AND objid = ${numberOf(gate)} AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`);
  const until = async (gate: Gate, processes: readonly RunningProcess[]) => {
    let ended: RunningProcess | undefined;
    for (const running of processes) {
      void running.ended.then(() => {
        ended = running;
      });
    }
    while ((await stopped(gate)).length < processes.length) {
      if (ended !== undefined) throw new Error(`it ended before ${gate}: ${ended.output()}`);
      await sleep(20);
    }
  };

  return {
    sql,
    close: () => client.end(),
    async gather(gate, processes, meanwhile) {
      await shut(gate);
      try {
        await until(gate, processes);
        await meanwhile?.();
      } finally {
        await open();
      }
    },
    async killAt(gate, start, { passes = 0, meanwhile } = {}) {
      await shut(gate);
      try {
        const running = await start();
        for (let passed = 0; passed < passes; passed += 1) {
          await until(gate, [running]);
          await open();
          // Waiting processes are let through first.
          await shut(gate);
        }
        await until(gate, [running]);
        await meanwhile?.();
        running.kill('SIGKILL');
        await running.ended;
        // The server has not noticed yet: without this it would finish the statements already sent.
        for (const { pid } of await stopped(gate)) await sql(`SELECT pg_terminate_backend(${pid}, 5000)`);
      } finally {
        await open();
      }
    },
  };
}
