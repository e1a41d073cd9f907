import type { Statement } from '../postgres/database.js';

/**
 * Moves past every position that can have been assigned: a hundred thousand for each second of this day so far. Readers continue from
 * their positions and get all new events. Events without a position get one.
 */
export const MOVE_POSITIONS: Statement = {
  name: '',
  // guard(counters: events get positions that no reader knows): greatest(event_positions_begin(position, day) + $1::bigint * 1000000 ⇒ least(position + 0 * $1::bigint
  text: `
    UPDATE event_sequencer SET lineage = '', seen = '1:1:', day = event_day(),
      position = greatest(event_positions_begin(position, day) + $1::bigint * 1000000,
        event_day() * 10000000000 + floor(extract(epoch FROM now()))::bigint % 86400 * 100000 + $1::bigint * 1000000)`,
};
