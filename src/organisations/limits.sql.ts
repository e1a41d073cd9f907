import type { Statement } from '../postgres/database.js';

export const SET_LIMITS: Statement = {
  name: '',
  text: `
    INSERT INTO plugin_setting (organisation_id, merchant_id, plugin, settings) VALUES ($1, $2, 'limits', $3::json)
    ON CONFLICT (organisation_id, merchant_id, plugin) DO UPDATE SET settings = excluded.settings`,
};

export const CLEAR_LIMITS: Statement = {
  name: '',
  text: `DELETE FROM plugin_setting WHERE organisation_id = $1 AND merchant_id = $2 AND plugin = 'limits'`,
};

/** What a merchant's limits have caught of late, the newest first. */
export const LIST_REACHED: Statement = {
  name: '',
  text: `
    SELECT mode, per, shown AS what, times, first_at AS "firstAt", last_at AS "lastAt" FROM limit_reached
    WHERE organisation_id = $1 AND merchant_id = $2 ORDER BY last_at DESC, id DESC LIMIT $3`,
};
