import type { Statement } from '../postgres/database.js';

export const HAS_USERS: Statement = { name: '', text: `SELECT FROM gateway_user LIMIT 1` };
