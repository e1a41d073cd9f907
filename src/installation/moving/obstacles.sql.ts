import type { Statement } from '../../postgres/database.js';

/** What would be doubled at the destination: rows of other organisations with the same IDs or names. */
export const TAKEN_IDS: Statement = {
  name: '',
  text: `
    SELECT 'merchant ' || id AS what FROM merchant WHERE id = ANY ($2::integer[]) AND organisation_id <> $1
    UNION ALL SELECT 'user ' || username FROM gateway_user WHERE username = ANY ($3::text[]) AND organisation_id <> $1
    UNION ALL SELECT 'the ID ' || id || ' of a user' FROM gateway_user WHERE id = ANY ($4::integer[]) AND organisation_id <> $1
    UNION ALL SELECT 'webhook endpoint ' || id FROM webhook_endpoint WHERE id = ANY ($5::integer[]) AND organisation_id <> $1
    UNION ALL SELECT 'the host name ' || host_name FROM organisation WHERE host_name = $6 AND id <> $1
    UNION ALL
    SELECT 'terminal ' || h.terminal || ' of ' || h.acceptor_id || ' at ' || h.acquirer FROM acquirer_terminal h
    JOIN json_to_recordset($7::json) AS w(acquirer text, acceptor_id text, terminal text)
      ON w.acquirer = h.acquirer AND w.acceptor_id = h.acceptor_id AND w.terminal = h.terminal
    WHERE h.organisation_id <> $1
    LIMIT 50`,
};

/** The same, as the source has them. */
export const IDS: Statement = {
  name: '',
  text: `
    SELECT ARRAY(SELECT id FROM merchant WHERE organisation_id = $1) AS merchants,
      ARRAY(SELECT username FROM gateway_user WHERE organisation_id = $1) AS usernames,
      ARRAY(SELECT id FROM gateway_user WHERE organisation_id = $1) AS users,
      ARRAY(SELECT id FROM webhook_endpoint WHERE organisation_id = $1) AS endpoints,
      (SELECT coalesce(json_agg(json_build_object('acquirer', acquirer, 'acceptor_id', acceptor_id, 'terminal', terminal)), '[]')
        FROM acquirer_terminal WHERE organisation_id = $1)::text AS terminals`,
};

/** Links that operators have added and that the organisation pays over, has paid over, or waits for. */
export const LINKS_USED: Statement = {
  name: '',
  text: `
    SELECT a.name, a.kind, a.mode, a.host, a.port, a.dialect, a.institution FROM acquirer a
    WHERE a.name IN (SELECT m.acquirer FROM merchant m WHERE m.organisation_id = $1)
      OR a.name IN (SELECT r.acquirer FROM route r WHERE r.organisation_id = $1)
      OR a.name IN (SELECT h.acquirer FROM acquirer_terminal h WHERE h.organisation_id = $1)
      OR a.name IN (SELECT t.acquirer FROM transaction t WHERE t.organisation_id = $1 AND t.resolve_at IS NOT NULL)
    ORDER BY a.name`,
};

export const LINKS: Statement = {
  name: '',
  text: `SELECT name, kind, mode, host, port, dialect, institution FROM acquirer WHERE name = ANY ($1::text[])`,
};

/** Releases of gateways that run on it. */
export const RELEASES: Statement = {
  name: '',
  text: `
    SELECT DISTINCT release FROM process WHERE seen_at > now() - interval '20 seconds' AND release <> $1 ORDER BY 1`,
};

export const OPERATORS_OF: Statement = {
  name: '',
  text: `SELECT name FROM operator WHERE organisation_id = $1 AND removed_at IS NULL ORDER BY name`,
};

export const SIZE_OF_ORGANISATION: Statement = {
  name: '',
  text: `
    SELECT (SELECT count(*)::integer FROM merchant WHERE organisation_id = $1) AS merchants,
      (SELECT count(*)::integer FROM gateway_user WHERE organisation_id = $1) AS users,
      (SELECT count(*)::integer FROM customer WHERE organisation_id = $1) AS customers,
      (SELECT count(*)::integer FROM token WHERE organisation_id = $1) AS tokens,
      (SELECT count(*)::integer FROM transaction WHERE organisation_id = $1) AS transactions,
      (SELECT count(*)::integer FROM event_feed WHERE organisation_id = $1) AS events,
      (SELECT count(*)::integer FROM journal WHERE organisation_id = $1) AS "journalEntries"`,
};

/** To estimate how long copying takes. */
export const SAMPLE: Statement = {
  name: '',
  text: `SELECT row_to_json(t)::text AS row FROM transaction t WHERE organisation_id = $1 ORDER BY audit LIMIT 2000`,
};
