// A database that explains each statement before running it: what the plan read, by which index, and how many rows.
import type { Database, Queryable, Statement } from '../src/postgres/database.js';

export interface PlanNode {
  readonly 'Node Type': string;
  readonly 'Relation Name'?: string;
  readonly 'Index Name'?: string;
  readonly 'Subplan Name'?: string;
  readonly 'Plan Rows': number;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Index Recheck'?: number;
  readonly 'Shared Hit Blocks': number;
  readonly 'Shared Read Blocks': number;
  readonly Plans?: readonly PlanNode[];
}

/** Every node, the root of each plan first. */
export function nodesOf(plan: PlanNode): PlanNode[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
}

export function explaining(database: Database, plans: PlanNode[]): Queryable {
  return {
    async query<Row>({ text }: Statement, values: readonly unknown[] = []) {
      const explain = { name: '', text: `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${text}` };
      const { rows } = await database.query<{ 'QUERY PLAN': [{ Plan: PlanNode }] }>(explain, values);
      for (const row of rows) plans.push(row['QUERY PLAN'][0].Plan);
      return database.query<Row>({ name: '', text }, values);
    },
    transaction: () => Promise.reject(new Error('only single statements are explained')),
  };
}
