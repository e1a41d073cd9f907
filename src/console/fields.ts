// Fields that bodies of several routes have.
import { MAX_INTEGER } from '../api/limits.js';
import { Type } from '../api/typebox.js';

export const ID = Type.Integer({ minimum: 1, maximum: MAX_INTEGER });
/** What is in it is checked where it is used. */
export const TEXT = Type.String({ maxLength: 256 });
export const LONG_TEXT = Type.String({ maxLength: 32_768 });
