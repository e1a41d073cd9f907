import type { Statement } from '../postgres/database.js';

export const MAKE_ABSENCES: Statement = {
  name: 'make-absences',
  text: `SELECT make_absences($1::integer[], $2::integer[], string_to_array($3, E'\\x1f'), $4) AS number`,
};

/** What every live process knows and nobody will ask for again. What is gone, a claim that knows less is told so. */
export const FORGET_ABSENCES: Statement = {
  name: 'forget-absences',
  text: `
    WITH known AS (
      SELECT min(known_absence) AS number FROM process WHERE seen_at > now() - interval '30 seconds'
    ), last AS (
      SELECT max(a.number) AS number FROM absence a, known
      WHERE a.number <= known.number AND a.made_at < now() - interval '10 minutes'
    ), forgotten AS (
      UPDATE gateway SET forgotten_absence = last.number FROM last WHERE last.number > forgotten_absence
      RETURNING forgotten_absence
    )
    DELETE FROM absence a USING forgotten WHERE a.number <= forgotten.forgotten_absence`,
};
