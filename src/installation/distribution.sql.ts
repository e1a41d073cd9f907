import type { Statement } from '../postgres/database.js';

// Those without a name can be sent only where there is Citus.

/** Empty on a plain PostgreSQL. */
export const CITUS_VERSION: Statement = {
  name: '',
  text: `SELECT extversion AS version FROM pg_extension WHERE extname = 'citus'`,
};

/** The group of a server is 0 until it is added to a cluster as a worker. */
export const SERVERS_OF_CLUSTER = `
    SELECT (SELECT groupid <> 0 FROM pg_dist_local_group) AS "isWorker",
      count(*) FILTER (WHERE groupid <> 0)::integer AS workers, coalesce(bool_or(groupid = 0), false) AS coordinator
    FROM pg_dist_node WHERE isactive AND noderole = 'primary'`;

/** Of each server: whether a commit that it has confirmed survives a crash. */
export const DURABLE_WORKERS = `
    SELECT nodename || ':' || nodeport AS server, result = 't' AS durable
    FROM run_command_on_workers($$
      SELECT current_setting('fsync') = 'on' AND current_setting('synchronous_commit') IN ('on', 'remote_apply')$$)
    WHERE success`;

/** How many shards the transactions are spread over; null where they are not. */
export const SHARDS = `
    SELECT (SELECT count(*)::integer FROM pg_dist_shard s WHERE s.logicalrelid = to_regclass('transaction')) AS shards,
      (SELECT count(DISTINCT p.nodeport || p.nodename)::integer FROM citus_shards p
        WHERE p.table_name = to_regclass('transaction')) AS servers`;

/** Otherwise a table with a trigger is not distributed. The trigger of transactions looks at nothing but its row. */
export const ALLOW_TRIGGERS = `SET LOCAL citus.enable_unsafe_triggers = on`;

export const SPREAD_TRANSACTIONS = `SELECT create_distributed_table('transaction', 'organisation_id', shard_count => $1)`;

/** What was here before has been copied to the others, and is not read here any more. */
export const FORGET_COPIED = `SELECT truncate_local_data_after_distributing_table('transaction')`;

export const IS_KNOWN_TO_CITUS = `SELECT EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = to_regclass('commit_together')) AS known`;

export const MAKE_KNOWN_TO_CITUS = `SELECT citus_add_local_table_to_metadata('commit_together')`;

/** For the tables that a statement changes together with transactions. */
export const COMMIT_TOGETHER = `
  CREATE OR REPLACE TRIGGER commit_together AFTER INSERT OR UPDATE OR DELETE ON settlement_entry
    FOR EACH STATEMENT EXECUTE FUNCTION commit_together();
  CREATE OR REPLACE TRIGGER commit_together AFTER INSERT OR UPDATE OR DELETE ON journal
    FOR EACH STATEMENT EXECUTE FUNCTION commit_together();
  CREATE OR REPLACE TRIGGER commit_together AFTER INSERT OR UPDATE OR DELETE ON directdebit_item
    FOR EACH STATEMENT EXECUTE FUNCTION commit_together();
  CREATE OR REPLACE TRIGGER commit_together AFTER INSERT OR UPDATE OR DELETE ON directdebit_file
    FOR EACH STATEMENT EXECUTE FUNCTION commit_together();
  CREATE OR REPLACE TRIGGER commit_together AFTER INSERT OR UPDATE OR DELETE ON card_held
    FOR EACH STATEMENT EXECUTE FUNCTION commit_together();
  CREATE OR REPLACE TRIGGER commit_together AFTER INSERT ON event
    REFERENCING NEW TABLE AS told FOR EACH STATEMENT EXECUTE FUNCTION tell_doubts_together();`;

/** Citus logs in to the other servers as whoever asks, which is this role where there is one. */
export const ROLES_TO_LET_IN: Statement = {
  name: '',
  text: `
    SELECT rolname AS role FROM pg_roles
    WHERE rolname IN ('tollgate_application', 'tollgate_operator') AND NOT rolcanlogin ORDER BY rolname`,
};

export const LET_IN = `
  DO $$
  DECLARE
    role text;
  BEGIN
    FOR role IN SELECT rolname FROM pg_roles
      WHERE rolname IN ('tollgate_application', 'tollgate_operator') AND NOT rolcanlogin LOOP
      EXECUTE format('ALTER ROLE %I LOGIN', role);
    END LOOP;
  END $$`;

/** On the other servers no plan reads a whole table where an index leads to the rows, either. */
export const PLAN_BY_INDEX_THERE = `
    SELECT count(*) FROM (VALUES ('enable_seqscan'), ('jit')) setting(name),
      LATERAL run_command_on_workers(format('ALTER DATABASE %I SET %I = off', current_database(), name)) done`;
