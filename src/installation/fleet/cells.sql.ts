import type { Statement } from '../../postgres/database.js';

export const SHOW_CELL: Statement = {
  name: '',
  text: `SELECT cell AS name, cell_number AS number FROM gateway`,
};

export const NAME_CELL: Statement = {
  name: '',
  text: `UPDATE gateway SET cell = $1, cell_number = $2 RETURNING cell AS name, cell_number AS number`,
};
