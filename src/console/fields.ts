// Fields that bodies of several routes have.
import { MAX_INTEGER } from '../api/limits.js';
import { Type } from '../api/typebox.js';
import { MAX_AMOUNT_CENTS } from '../values/money.js';

export const ID = Type.Integer({ minimum: 1, maximum: MAX_INTEGER });
export const AMOUNT_CENTS = Type.Integer({ minimum: 1, maximum: MAX_AMOUNT_CENTS });
/** What is in it is checked where it is used. */
export const TEXT = Type.String({ maxLength: 256 });
export const LONG_TEXT = Type.String({ maxLength: 32_768 });
export const TEXTS = Type.Array(TEXT, { maxItems: 1_000 });
export const DAY = Type.String({ pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}$' });
export const REASON = Type.String({ maxLength: 1_000 });
export const NOTHING = Type.Object({});
