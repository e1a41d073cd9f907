import type { Statement } from '../postgres/database.js';

export const ORGANISATION_OF_MERCHANT: Statement = {
  name: '',
  text: `SELECT organisation_id AS organisation FROM merchant WHERE id = $1`,
};

export const HAS_LIVE_MERCHANT: Statement = {
  name: '',
  text: `SELECT FROM merchant WHERE mode = 'live' AND ($1::integer IS NULL OR organisation_id = $1) LIMIT 1`,
};
