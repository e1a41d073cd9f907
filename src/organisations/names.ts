// What organisations and merchants may be called.
import { containsCardNumber } from '../values/card.js';
import { refuse } from '../values/refusal.js';
import { isRestricted } from '../values/text.js';

/** The name, if it may be one. */
export function checkedName(name: string): string {
  if (name.length < 1 || name.length > 60 || !isRestricted(name) || containsCardNumber(name)) {
    refuse('name_not_allowed');
  }
  return name;
}
