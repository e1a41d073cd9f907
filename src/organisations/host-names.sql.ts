import { columns, text } from '../postgres/batches.js';
import type { Statement } from '../postgres/database.js';
import { SEALED_ORGANISATION } from './sealed-organisation.sql.js';

export const HOSTS = columns<string>('asked', { name: text((name) => name) });

export const ORGANISATIONS_CALLED: Statement = {
  name: 'organisations-called',
  text: `
    SELECT o.id, ${SEALED_ORGANISATION} FROM ${HOSTS.rows} JOIN organisation o ON o.host_name = asked.name`,
};
