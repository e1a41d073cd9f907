import type { Statement } from '../postgres/database.js';

export const ADD_ORGANISATION: Statement = {
  name: '',
  text: `INSERT INTO organisation (name) VALUES ($1) RETURNING id, name`,
};

export const LIST_ORGANISATIONS: Statement = {
  name: '',
  text: `
    SELECT id, name, created_at AS "createdAt", host_name AS "hostName", residence, moved_to AS "movedTo" FROM organisation
    ORDER BY id`,
};

export const SET_HOST_NAME: Statement = {
  name: '',
  text: `UPDATE organisation SET host_name = $2 WHERE id = $1`,
};
