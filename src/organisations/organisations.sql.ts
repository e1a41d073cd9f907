import type { Statement } from '../postgres/database.js';

export const ADD_ORGANISATION: Statement = {
  name: '',
  text: `INSERT INTO organisation (name) VALUES ($1) RETURNING id, name`,
};

export const LIST_ORGANISATIONS: Statement = {
  name: '',
  text: `SELECT id, name, created_at AS "createdAt" FROM organisation ORDER BY id`,
};
