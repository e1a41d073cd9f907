// Plays one round of a race: makes the targets, lets the lanes run, and holds what came of it against the model.
import { setTimeout as sleep } from 'node:timers/promises';
import { differences } from './books.js';
import { call } from './client.js';
import { paymentBody, targetedBody } from './installation.js';
import { born, completableCents, explained, isVoidable, refundableCents } from './life.js';

const DECISION_LIMIT_MS = 30_000;
/** The simulator goes by the mask where a target's card is used again, so that a card can change its mind. */
const MASKS = {
  good: '411111******1111',
  declined: '410000******0050',
  faulty: '410000******0969',
  unreachable: '420000******0018',
  lost: '420000******0026',
  unreadable: '420000******0059',
};
const MEANT_FOR = {
  refund: ['purchase', 'completion'],
  completion: ['preauthorisation'],
  void: ['refund', 'completion'],
};
/** One row at a time: whoever holds a single lock is part of no deadlock. */
const SET_MASK = 'UPDATE transaction SET card_mask = $1 WHERE audit = $2';

export class Arena {
  tally = { commands: 0, overlaps: 0, doubtful: 0, accepted: {}, refused: {} };
  #installation;
  #gateways;
  #rounds = 0;

  constructor(installation, gateways) {
    this.#installation = installation;
    this.#gateways = gateways;
  }

  /** Throws when something came of it that no order of the operations explains. */
  async play({ roots, lanes }) {
    this.#rounds += 1;
    const families = await Promise.all(roots.map((root, number) => this.#begin(root, number)));
    await Promise.all(
      lanes.map(async (lane) => {
        for (const { root, gateway, pauseMs, action } of lane) {
          await sleep(pauseMs);
          const family = families[root % families.length];
          if (action.kind === 'card') await this.#changeCard(family, MASKS[action.card]);
          else await this.#operate(family, gateway, action);
        }
      }),
    );
    for (const family of families) await this.#check(family);
  }

  async #begin({ kind, amountCents }, number) {
    const reference = `round-${this.#rounds}-${number}`;
    const { merchantId } = this.#installation;
    const body = paymentBody({ merchantId, reference, amountCents });
    const { audit } = await this.#call(number, 'POST', `/transactions/${kind}`, { body });
    await this.#decided(audit);
    return {
      reference,
      amountCents,
      made: [{ audit, kind }],
      born: born(audit, kind, amountCents),
      happenings: [],
    };
  }

  async #changeCard({ made }, mask) {
    for (const { audit } of made) await this.#installation.sql(SET_MASK, [mask, audit]);
  }

  async #operate(family, gateway, action) {
    const { kind, targetAudit } = chosen(family, action);
    const amountCents = kind === 'void' ? undefined : Math.ceil((family.amountCents * action.tenths) / 10);
    const { merchantId } = this.#installation;
    const body = targetedBody({ merchantId, reference: family.reference, amountCents });
    const sentMs = performance.now();
    const answer = await this.#call(gateway, 'POST', `/transactions/${targetAudit}/${kind}`, { body });
    const { status, audit, code } = answer;
    const happening = { operation: { kind, targetAudit, amountCents }, gateway, sentMs };
    family.happenings.push(happening);
    happening.answeredMs = performance.now();
    if (status === 201) {
      Object.assign(happening, { audit, outcome: answer.body.status.transaction_status_code });
    } else if (status === 502 || status === 504) {
      Object.assign(happening, { audit, doubtful: true });
    } else {
      happening.refused = status === 422 || code === 'not_processed' ? code : `${status} ${code}`;
    }
    if (audit !== undefined) family.made.push({ audit, kind });
  }

  async #check(family) {
    for (const happening of family.happenings.filter(({ doubtful }) => doubtful)) {
      const { status } = await this.#decided(happening.audit);
      const said = status.transaction_status_code;
      // Voided means that it had been approved.
      happening.outcome = said === 'voided' ? 'approved' : said;
    }
    this.#count(family);
    const state = explained(family.born, family.happenings);
    if (state === undefined) throw new Error(`no order of these explains the answers:\n${told(family)}`);

    const complaints = [];
    const compare = (what, ours, theirs) => {
      const [expected, found] = [JSON.stringify(ours), JSON.stringify(theirs)];
      if (expected !== found) complaints.push(`${what}: expected ${expected}, found ${found}`);
    };
    for (const transaction of state.values()) {
      for (const number of this.#gateways.keys()) {
        const { body } = await this.#call(number, 'GET', `/transactions/${transaction.audit}`);
        compare(`audit ${transaction.audit} at gateway ${number}`, expectedOf(transaction), shownBy(body));
      }
    }
    const rows = await this.#installation.transactions(family.reference);
    const audits = (list) => list.map(({ audit }) => audit).sort((one, other) => one - other);
    compare('the transactions that are stored', audits([...state.values()]), audits(rows));
    complaints.push(...(await this.#ledgerAgainst(state, rows)));
    if (complaints.length > 0) throw new Error(`${complaints.join('\n')}\nafter:\n${told(family)}`);
  }

  /** What the model says was charged, against what the acquirer says. */
  async #ledgerAgainst(state, rows) {
    const referenceOf = new Map(rows.map(({ audit, acquirerReference }) => [audit, acquirerReference]));
    const references = new Set(referenceOf.values());
    const expected = [...state.values()].map((transaction) => ({
      ...transaction,
      acquirerReference: referenceOf.get(transaction.audit),
    }));
    const entries = await this.#installation.ledger();
    return differences(
      expected,
      entries.filter(({ reference }) => references.has(reference)),
    );
  }

  async #decided(audit) {
    const limitMs = performance.now() + DECISION_LIMIT_MS;
    for (let number = 0; performance.now() < limitMs; number += 1) {
      const { body } = await this.#call(number, 'GET', `/transactions/${audit}`);
      if (body.status.transaction_status_code !== 'unknown') return body;
      await sleep(10);
    }
    throw new Error(`audit ${audit} was not decided within ${DECISION_LIMIT_MS / 1000} s`);
  }

  #call(number, method, path, request) {
    const { baseUrl } = this.#gateways[number % this.#gateways.length];
    return call({ baseUrl, authorization: this.#installation.authorization }, method, path, request);
  }

  #count({ happenings }) {
    const add = (counts, name) => {
      counts[name] = (counts[name] ?? 0) + 1;
    };
    for (const [index, { operation, refused, outcome, doubtful, ...one }] of happenings.entries()) {
      this.tally.commands += 1;
      if (doubtful) this.tally.doubtful += 1;
      if (refused !== undefined) add(this.tally.refused, refused);
      else add(this.tally.accepted, `${operation.kind} ${outcome}`);
      this.tally.overlaps += happenings
        .slice(index + 1)
        .filter(
          (other) =>
            other.gateway !== one.gateway && other.sentMs < one.answeredMs && one.sentMs < other.answeredMs,
        ).length;
    }
  }
}

/** An operation that makes sense here, near the one that was asked for; a wild one is taken as it comes. */
function chosen({ made }, { kind, of, wild }) {
  if (wild) return { kind, targetAudit: made[of % made.length].audit };
  // A void of the root ends the race, and so is rare.
  if (kind === 'void' && of === 0) return { kind, targetAudit: made[0].audit };
  for (const sensible of [kind, 'refund', 'completion']) {
    const targets = made.filter((each) => MEANT_FOR[sensible].includes(each.kind));
    if (targets.length > 0) return { kind: sensible, targetAudit: targets[of % targets.length].audit };
  }
  throw new Error('a family without a purchase or a preauthorisation');
}

function expectedOf(transaction) {
  return {
    status: transaction.status,
    amount: String(transaction.amountCents),
    refundable: refundableCents(transaction)?.toString(),
    completable: completableCents(transaction)?.toString(),
    links: [
      ...(completableCents(transaction) === undefined ? [] : ['completion']),
      ...(refundableCents(transaction) === undefined ? [] : ['refund']),
      ...(isVoidable(transaction) ? ['void'] : []),
    ],
  };
}

function shownBy({ status, transaction, kvps, _links }) {
  return {
    status: status.transaction_status_code,
    amount: transaction.amount_details.total_amount,
    refundable: kvps['GATEWAY.RESPONSE.KVP.REFUNDABLE_AMOUNT'],
    completable: kvps['GATEWAY.RESPONSE.KVP.COMPLETABLE_AMOUNT'],
    links: ['completion', 'refund', 'void'].filter((name) => name in _links),
  };
}

/** A family's operations in the order in which they were sent, one a line. */
function told({ born: initial, happenings }) {
  const [root] = initial.values();
  const lines = [...happenings]
    .sort((one, other) => one.sentMs - other.sentMs)
    .map(({ operation, gateway, sentMs, answeredMs, audit, outcome, refused }) => {
      const asked = `${operation.kind} ${operation.amountCents ?? ''} of ${operation.targetAudit}`;
      const when = `${sentMs.toFixed(1)} to ${answeredMs.toFixed(1)} ms at gateway ${gateway}`;
      return `  ${when}: ${asked} → ${refused ?? `audit ${audit} ${outcome}`}`;
    });
  return [`  ${root.type} ${root.amountCents}, audit ${root.audit}`, ...lines].join('\n');
}
