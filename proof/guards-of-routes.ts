// The guards of routes: a payment goes over another link only where nothing was sent, what is stored names the link that is asked, and
// no link takes the room of the others.
import type { Guard } from './guard.js';

const CREATE = 'src/transactions/create.ts';
const ASKING = 'src/transactions/asking.ts';
const BREAKERS = 'src/acquirers/breakers.ts';
const ROUTES = 'test/transactions/card-routes.test.ts';
const REROUTING = 'test/transactions/rerouting.test.ts';
const FAILING = 'test/transactions/failing-links.test.ts';
const COMMANDS = 'test/cli/route-commands.test.ts';
const KILLED = 'test/processes/rerouting-killed.test.ts';

const MOVE =
  'if (!(await rerouting.move({ organisationId, audit, before, acquirer, prepared }))) return undefined;';
/** Asked at once, and stored when nobody waits for it. */
const MOVED_LATER =
  'setTimeout(() => void rerouting.move({ organisationId, audit, before, acquirer, prepared }), 500);';

export const ROUTE_GUARDS: readonly Guard[] = [
  {
    name: 'routes: another link only where nothing was sent',
    file: CREATE,
    find: "while (answer.kind === 'not_sent' && claimed.others !== undefined) {",
    replace:
      "while ((answer.kind === 'not_sent' || answer.kind === 'unknown') && claimed.others !== undefined) {",
    tests: [[REROUTING, 'no other link is asked, and it is reversed where it was sent']],
  },
  {
    name: 'routes: the other link is stored before it is asked',
    file: ASKING,
    find: MOVE,
    replace: MOVED_LATER,
    tests: [[REROUTING, 'over the next, stored so, and journalled']],
  },
  {
    name: 'routes: the other link is stored before it is asked, killed between',
    slow: true,
    processes: true,
    file: ASKING,
    find: MOVE,
    replace: MOVED_LATER,
    tests: [[KILLED, 'stored is the link that it may have been sent over']],
  },
  {
    name: 'routes: what another process has taken over is not moved',
    file: 'src/transactions/rerouting.sql.ts',
    find: "AND t.status = 'unknown' AND t.resolve_attempts = 0 AND t.resolve_at IS NULL",
    replace: "AND t.status = 'unknown'",
    tests: [[REROUTING, 'taken over by a resolver meanwhile']],
  },
  {
    name: 'routes: a link that could not be stored is not asked',
    file: 'src/transactions/rerouting.ts',
    find: 'return this.#moves.submit(move).catch(() => false);',
    replace: 'return this.#moves.submit(move).catch(() => true);',
    tests: [[REROUTING, 'the other link cannot be stored']],
  },
  {
    name: 'routes: nothing is prepared for a target that may still be moved',
    file: CREATE,
    find: "target.status === 'unknown' || ",
    replace: '',
    tests: [[REROUTING, 'whose target is decided on another link just then']],
  },
  {
    name: 'routes: no route leads from test to live',
    file: 'src/transactions/link.ts',
    find: 'names.filter((name) => usable(links.known(name), merchant) !== undefined)',
    replace: 'names.filter((name) => links.known(name) !== undefined)',
    tests: [[ROUTES, 'a route to a link of the other mode']],
  },
  {
    name: 'routes: none is set from test to live',
    file: 'src/admin/routes.ts',
    find: 'await checkAcquirer(connection, { id, mode, acquirer: wish.acquirer, ...acceptor });',
    replace: 'void checkAcquirer; void mode; void acceptor;',
    tests: [[COMMANDS, 'a live merchant and a test link']],
  },
  {
    name: 'routes: shares of a rank are no more than 100 %',
    file: 'src/admin/routes.ts',
    find: "if (thousandths > WHOLE) refuse('route_shares_exceed', { percent: formatPercent(thousandths) });",
    replace: 'void WHOLE;',
    tests: [[COMMANDS, 'shares of one rank beyond 100 %']],
  },
  {
    name: 'routes: one command at a time changes the routes of a merchant',
    file: 'src/admin/routes.sql.ts',
    find: `    UPDATE merchant SET
      routes_version = greatest((extract(epoch FROM clock_timestamp()) * 1000000)::bigint, coalesce(routes_version, 0) + 1)
    WHERE id = $1
    RETURNING organisation_id AS "organisationId", id, mode, acceptor_id AS "acceptorId", terminals`,
    replace: `
    SELECT organisation_id AS "organisationId", id, mode, acceptor_id AS "acceptorId", terminals FROM merchant WHERE id = $1`,
    // Slow enough for the two to meet.
    also: [
      {
        file: 'src/admin/routes.sql.ts',
        find: 'SELECT sum(share)::integer AS thousandths FROM route WHERE organisation_id = $1',
        replace:
          'SELECT sum(share)::integer AS thousandths FROM route, (SELECT pg_sleep(0.3)) slept WHERE organisation_id = $1',
      },
    ],
    tests: [[COMMANDS, 'shares of one rank beyond 100 %']],
  },
  {
    name: 'routes: a link that a route leads to is not removed',
    file: 'src/admin/acquirers.ts',
    find: "if (routed.length > 0) refuse('acquirer_routed', { acquirer: name, merchants: routed });",
    replace: 'void routed;',
    tests: [[COMMANDS, 'is not removed, by whatever way']],
  },
  {
    name: 'breakers: a link that fails is taken out',
    file: BREAKERS,
    find: 'if (failing.inARow < FAILURES_IN_A_ROW) return;',
    replace: 'if (failing.inARow < 1_000_000) return;',
    tests: [[FAILING, 'taken out after some failures in a row']],
  },
  {
    name: 'breakers: the only link there is keeps being tried',
    file: BREAKERS,
    find: 'failing.isWorthTrying(this.now()) || (!hasAnotherWay && failing.underWay < MOST_WITHOUT_ANOTHER_WAY)',
    replace: 'failing.isWorthTrying(this.now()) || (!hasAnotherWay && failing.underWay < 0)',
    tests: [[FAILING, 'a few payments at a time still try it']],
  },
  {
    name: 'breakers: and not by everybody at once',
    file: BREAKERS,
    find: 'failing.isWorthTrying(this.now()) || (!hasAnotherWay && failing.underWay < MOST_WITHOUT_ANOTHER_WAY)',
    replace: 'failing.isWorthTrying(this.now()) || !hasAnotherWay',
    tests: [[FAILING, 'a few payments at a time still try it']],
  },
  {
    name: 'breakers: a decline is an answer',
    file: ASKING,
    find: "if (kind !== 'not_sent') return 'answered';",
    replace: "if (kind !== 'not_sent') return kind === 'declined' ? 'failed' : 'answered';",
    tests: [[FAILING, 'declined again and again']],
  },
  {
    name: 'breakers: what fails for one organisation is no reason for another',
    file: BREAKERS,
    find: 'return failing === undefined || failing.isWorthTrying(this.now());',
    replace:
      'return [...(this.#failing.get(link)?.values() ?? [])].every((each) => each.isWorthTrying(this.now())) || failing === null;',
    tests: [['test/acquirers/breakers.test.ts', 'the others go their way']],
  },
  {
    name: 'room: links that do not answer leave some for the others',
    file: 'src/transactions/room.ts',
    find: 'ownOnLink >= TIMES_FOR_A_LINK * (ofOrganisation - own)',
    replace: 'ofOrganisation < 0',
    tests: [[FAILING, 'a third serves all of its own']],
  },
];
