// In charge of the texts by which a period of time is asked for: each end is an instant with its offset, or a day in Sydney.
import { Temporal } from 'temporal-polyfill';
import { addDays, sydneyInstant } from './sydney.js';

const DATE = '[12][0-9]{3}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])';
const TIME = '([01][0-9]|2[0-3]):[0-5][0-9](:([0-5][0-9]|60)([.,][0-9]{1,9})?)?';
const OFFSET = '(Z|[-+ ]([01][0-9]|2[0-3])(:?[0-5][0-9])?)';

export const DAY_PATTERN = `^${DATE}$`;
/** A space counts as the plus sign that an address makes a space of. */
export const INSTANT_OR_DAY_PATTERN = `^${DATE}(T${TIME}${OFFSET})?$`;

const day = new RegExp(DAY_PATTERN);
const instantOrDay = new RegExp(INSTANT_OR_DAY_PATTERN);

/** Whether a text is a day of the calendar. */
export function isDay(text: string): boolean {
  return day.test(text) && valid(() => Temporal.PlainDate.from(text)) !== undefined;
}

/** From when on, in milliseconds; undefined where the text says nothing of the kind. */
export function periodStart(text: string): number | undefined {
  return isDay(text) ? sydneyInstant(text, '00:00') : instant(text);
}

/** Up to when, itself not included: the instant that is named, and the whole of a day, belong to the period. */
export function periodEnd(text: string): number | undefined {
  if (isDay(text)) return sydneyInstant(addDays(text, 1), '00:00');
  const last = instant(text);
  return last === undefined ? undefined : last + 1;
}

function instant(text: string): number | undefined {
  if (!instantOrDay.test(text) || !text.includes('T')) return undefined;
  return valid(() => Temporal.Instant.from(text.replace(' ', '+')))?.epochMilliseconds;
}

function valid<Value>(read: () => Value): Value | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
