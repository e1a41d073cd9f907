import type { Statement } from '../postgres/database.js';

/**
 * The digest of a whole entry, as one text in which no value can be moved from one column to another. What an entry says of a sealed row
 * follows the rest: for other entries, the text is as it was before there were seals in the journal.
 */
// guard(journal: all that an entry says is bound): j.address ⇒ NULL
export const DIGEST = `substr(sha256(convert_to(ROW(j.id, extract(epoch FROM j.at), j.organisation_id, j.merchant_id, j.actor,
      j.action, j.customer_id, j.token_id, j.audit, j.correlation_id, j.detail, j.address, encode(j.mark, 'hex'))::text
      || CASE WHEN j.subject IS NULL THEN '' ELSE ROW(j.subject, j.subject_version, encode(j.seal, 'hex'))::text END
      || CASE WHEN j.moved_from IS NULL THEN '' ELSE ROW(j.moved_from)::text END,
      'UTF8')), 1, 16)`;

/** An ID that the sequence never gave out is not ours. If blocks included it, they would skip all IDs before it. */
// guard(journal: an id that was never handed out does not carry the chain away): <= (SELECT coalesce(pg_sequence_last_value('journal_id_seq'), 0)) ⇒ > 0
const HANDED_OUT = `j.id <= (SELECT coalesce(pg_sequence_last_value('journal_id_seq'), 0))`;

export const BLOCK_IS_DUE = `(
      EXISTS (SELECT FROM journal j, journal_chain c WHERE j.id > c.chained_up_to AND ${HANDED_OUT})
      OR NOT EXISTS (SELECT FROM journal_chain)
      OR EXISTS (SELECT FROM journal_gap g WHERE EXISTS (SELECT FROM journal j WHERE j.id BETWEEN g.first_id AND g.last_id)))`;

export const CHAIN_IS_BEHIND: Statement = {
  name: 'chain-is-behind',
  text: `SELECT ${BLOCK_IS_DUE} AS behind`,
};

/** Held until the end of the transaction; false if another process holds it. */
export const LOCK_CHAIN: Statement = {
  name: 'lock-chain',
  text: `SELECT pg_try_advisory_xact_lock(hashtext('tollgate journal')) AS locked`,
};

/** The end of the chain, and the hash of the block that this process knew as its end. */
export const CHAIN_STATE: Statement = {
  name: 'chain-state',
  text: `
    SELECT c.chained_up_to AS "chainedUpTo", database_lineage() AS lineage,
      round(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS "nowMs", last.number, last.hash,
      (SELECT hash FROM journal_block WHERE number = $1) AS remembered
    FROM journal_chain c
    LEFT JOIN LATERAL (SELECT number, hash FROM journal_block ORDER BY number DESC LIMIT 1) last ON true`,
};

/** The next entries: those that were committed too late for an earlier block, and those after the last block. */
export const NEXT_ENTRIES: Statement = {
  name: 'next-entries-of-journal',
  text: `
    SELECT array_agg(id ORDER BY id) AS ids, string_agg(digest, '' ORDER BY id) AS tags,
      coalesce(array_agg(id ORDER BY id) FILTER (WHERE mark IS NULL), '{}') AS unsigned
    FROM (
      (SELECT j.id, ${DIGEST} AS digest, j.mark FROM journal_gap g JOIN journal j ON j.id BETWEEN g.first_id AND g.last_id LIMIT $2)
      UNION ALL
      (SELECT j.id, ${DIGEST}, j.mark FROM journal j WHERE j.id > $1 AND ${HANDED_OUT} ORDER BY j.id LIMIT $2)) next
    HAVING count(*) > 0`,
};

export const ADD_BLOCK: Statement = {
  name: 'add-block-of-journal',
  text: `
    INSERT INTO journal_block (number, made_ms, spans, first_id, last_id, tags, foreign_ids, hash)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
};

export const CHAINED_UP_TO: Statement = {
  name: 'chained-up-to',
  text: `UPDATE journal_chain SET chained_up_to = greatest(chained_up_to, $1)`,
};

export const GAPS: Statement = {
  name: 'gaps-of-journal',
  text: `SELECT first_id AS first, last_id AS last FROM journal_gap ORDER BY first_id`,
};

export const ADD_GAP: Statement = {
  name: 'add-gap-of-journal',
  text: `INSERT INTO journal_gap (first_id, last_id) VALUES ($1, $2) ON CONFLICT DO NOTHING`,
};

/** The rest of a gap keeps the time at which the gap was noticed. */
export const SPLIT_GAP: Statement = {
  name: 'split-gap-of-journal',
  text: `
    WITH filled AS (DELETE FROM journal_gap WHERE first_id = $1 RETURNING noticed_at, noticed_before)
    INSERT INTO journal_gap (first_id, last_id, noticed_at, noticed_before)
    SELECT part.first_id, part.last_id, filled.noticed_at, filled.noticed_before
    FROM filled, unnest($2::bigint[], $3::bigint[]) AS part(first_id, last_id)`,
};

/** IDs of transactions that have ended will not appear any more. The extra hour is for a transaction that had only drawn an ID. */
export const CLOSE_GAPS: Statement = {
  name: 'close-gaps-of-journal',
  text: `
    DELETE FROM journal_gap g
    WHERE g.noticed_at < now() - interval '1 hour' AND pg_snapshot_xmin(pg_current_snapshot()) >= g.noticed_before
      AND NOT EXISTS (SELECT FROM journal j WHERE j.id BETWEEN g.first_id AND g.last_id)`,
};

export const BLOCKS_BY_NUMBER: Statement = {
  name: 'blocks-of-journal-by-number',
  text: `
    SELECT number, made_ms AS "madeMs", spans, tags, foreign_ids AS foreign, hash FROM journal_block
    WHERE number > $1 ORDER BY number LIMIT $2`,
};

export const BLOCKS_BY_FIRST_ID: Statement = {
  name: 'blocks-of-journal-by-first-id',
  text: `
    SELECT number, first_id AS first, last_id AS last, spans, tags FROM journal_block
    WHERE (first_id, number) > ($1, $2) ORDER BY first_id, number LIMIT $3`,
};

const ENTRY = `j.id, j.organisation_id AS "organisationId", j.actor, j.action, j.customer_id AS "customerId", j.token_id AS "tokenId",
      j.audit, j.correlation_id AS "correlationId", j.detail, j.address, j.subject, j.subject_version AS "subjectVersion", j.seal,
      j.mark AS mac, ${DIGEST} AS digest`;

export const ENTRIES_AFTER: Statement = {
  name: 'entries-of-journal-after',
  text: `SELECT ${ENTRY} FROM journal j WHERE j.id > $1 ORDER BY j.id LIMIT $2`,
};

export const ENTRIES_BY_ID: Statement = {
  name: 'entries-of-journal-by-id',
  text: `SELECT ${ENTRY} FROM journal j WHERE j.id = ANY ($1::bigint[])`,
};

/** Later copies of an entry. A MAC is used once. */
export const COPIED_ENTRIES: Statement = {
  name: '',
  text: `
    SELECT id FROM (
      SELECT id, row_number() OVER (PARTITION BY mark ORDER BY id) AS nth FROM journal WHERE mark IS NOT NULL AND id > $1) marked
    WHERE nth > 1 ORDER BY id LIMIT 100`,
};

/** Where the last blocks with about $1 entries begin: the block before them, its hash, and the last ID before them. */
export const RECENT_BLOCKS: Statement = {
  name: '',
  text: `
    WITH recent AS (
      SELECT number, first_id, sum(entries) OVER (ORDER BY number DESC) - entries AS later
      FROM (SELECT number, first_id, octet_length(tags) / 16 AS entries FROM journal_block ORDER BY number DESC LIMIT 1000) blocks
    ), start AS (
      SELECT min(number) - 1 AS "blockBefore", min(first_id) - 1 AS "blocksFromId" FROM recent WHERE later < $1
    )
    SELECT start.*, before.hash,
      coalesce((SELECT max(last_id) FROM (SELECT last_id FROM journal_block b WHERE b.number <= start."blockBefore"
        ORDER BY number DESC LIMIT 1000) older), 0) AS "afterId"
    FROM start LEFT JOIN journal_block before ON before.number = start."blockBefore"
    WHERE start."blockBefore" > 0`,
};

export const HANDED_OUT_IDS: Statement = {
  name: '',
  text: `
    SELECT coalesce(pg_sequence_last_value('journal_id_seq'), 0) AS "lastId",
      coalesce((SELECT chained_up_to FROM journal_chain), -1) AS "chainedUpTo"`,
};

export const BLOCK_HASHES: Statement = {
  name: '',
  text: `SELECT number, hash FROM journal_block WHERE number = ANY ($1::bigint[])`,
};

export const LINEAGE: Statement = {
  name: '',
  text: `SELECT database_lineage() AS lineage`,
};
