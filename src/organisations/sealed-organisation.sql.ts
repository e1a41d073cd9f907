import { newestSeal } from '../journal/seals.js';

/** Everything that the journal seals of an organisation `o`, and its newest seal; and what it came with from another cell. */
export const SEALED_ORGANISATION = `o.host_name AS "hostName", o.residence, o.moved_to AS "movedTo", o.moved_to_address AS "movedToAddress",
      o.arrived_absence AS "arrivedAbsence",
      ${newestSeal("'organisation/' || o.id")} AS "newestOfOrganisation"`;

export const LOCK_ORGANISATION = {
  name: '',
  text: `SELECT id FROM organisation WHERE id = $1 FOR NO KEY UPDATE`,
};

export const FIND_SEALED_ORGANISATION = {
  name: 'find-sealed-organisation',
  text: `SELECT o.id, ${SEALED_ORGANISATION} FROM organisation o WHERE o.id = $1`,
};
