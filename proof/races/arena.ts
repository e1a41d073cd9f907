// Plays one round of a race: makes the targets, lets the lanes run, and holds what came of it against the model.
import { setTimeout as sleep } from 'node:timers/promises';
import { type Json, paymentBody, targetedBody } from '../../testkit/bodies.js';
import type { Booked, StoredTransaction } from '../../testkit/books.js';
import { differences } from '../../testkit/books.js';
import { type CallAnswer, type CallRequest, call } from '../../testkit/caller.js';
import type { AttackedGateway, Installation } from '../../testkit/installation.js';
import {
  born,
  completableCents,
  explained,
  type Happening,
  isVoidable,
  type Life,
  type OperationKind,
  refundableCents,
  type State,
} from './life.js';

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
const MEANT_FOR: Readonly<Record<OperationKind, readonly string[]>> = {
  refund: ['purchase', 'completion'],
  completion: ['preauthorisation'],
  void: ['refund', 'completion'],
};
export type CardName = keyof typeof MASKS;

export interface OperationPlan {
  readonly kind: OperationKind;
  readonly of: number;
  readonly wild: boolean;
  readonly tenths: number;
}

export interface Command {
  readonly root: number;
  readonly gateway: number;
  readonly pauseMs: number;
  readonly action: OperationPlan | { readonly kind: 'card'; readonly card: CardName };
}

export interface Root {
  readonly kind: 'purchase' | 'preauthorisation';
  readonly amountCents: number;
}

export interface RoundPlan {
  readonly roots: readonly Root[];
  readonly lanes: readonly (readonly Command[])[];
}

interface Made {
  readonly audit: number;
  readonly kind: string;
}

interface Told extends Happening {
  readonly gateway: number;
}

/** A root and everything that was done to it and to what came of it. */
interface Family {
  readonly reference: string;
  readonly amountCents: number;
  readonly made: [Made, ...Made[]];
  readonly born: State;
  readonly happenings: Told[];
}

/** One row at a time: whoever holds a single lock is part of no deadlock. */
const SET_MASK = 'UPDATE transaction SET card_mask = $1 WHERE audit = $2';

export class Arena {
  readonly tally = {
    commands: 0,
    overlaps: 0,
    doubtful: 0,
    accepted: {} as Record<string, number>,
    refused: {} as Record<string, number>,
  };
  readonly #installation: Installation;
  readonly #gateways: readonly AttackedGateway[];
  #rounds = 0;

  constructor(installation: Installation, gateways: readonly AttackedGateway[]) {
    this.#installation = installation;
    this.#gateways = gateways;
  }

  /** Throws when something came of it that no order of the operations explains. */
  async play({ roots, lanes }: RoundPlan): Promise<void> {
    this.#rounds += 1;
    const families = await Promise.all(roots.map((root, number) => this.#begin(root, number)));
    await Promise.all(
      lanes.map(async (lane) => {
        for (const { root, gateway, pauseMs, action } of lane) {
          await sleep(pauseMs);
          const family = families[root % families.length] as Family;
          if (action.kind === 'card') await this.#changeCard(family, MASKS[action.card]);
          else await this.#operate(family, gateway, action);
        }
      }),
    );
    for (const family of families) await this.#check(family);
  }

  async #begin({ kind, amountCents }: Root, number: number): Promise<Family> {
    const reference = `round-${this.#rounds}-${number}`;
    const body = paymentBody({ merchant: this.#installation.merchantId, reference, amount: amountCents });
    const { audit } = await this.#call(number, 'POST', `/transactions/${kind}`, { body });
    if (audit === undefined) throw new Error(`a ${kind} to begin with was refused`);
    await this.#decided(audit);
    return {
      reference,
      amountCents,
      made: [{ audit, kind }],
      born: born(audit, kind, amountCents),
      happenings: [],
    };
  }

  async #changeCard({ made }: Family, mask: string): Promise<void> {
    for (const { audit } of made) await this.#installation.sql(SET_MASK, [mask, audit]);
  }

  async #operate(family: Family, gateway: number, action: OperationPlan): Promise<void> {
    const { kind, targetAudit } = chosen(family, action);
    const amountCents = kind === 'void' ? undefined : Math.ceil((family.amountCents * action.tenths) / 10);
    const body = targetedBody({
      merchant: this.#installation.merchantId,
      reference: family.reference,
      amount: amountCents,
    });
    const sentMs = performance.now();
    const answer = await this.#call(gateway, 'POST', `/transactions/${targetAudit}/${kind}`, { body });
    const { status, audit, code } = answer;
    const outcome: Partial<Happening> =
      status === 201
        ? { audit, outcome: answer.body.status.transaction_status_code }
        : status === 502 || status === 504
          ? { audit, doubtful: true }
          : { refused: status === 422 || code === 'not_processed' ? code : `${status} ${code}` };
    const operation = { kind, targetAudit, amountCents };
    family.happenings.push({ operation, gateway, sentMs, answeredMs: performance.now(), ...outcome });
    if (audit !== undefined) family.made.push({ audit, kind });
  }

  async #check(family: Family): Promise<void> {
    for (const [index, happening] of family.happenings.entries()) {
      if (!happening.doubtful) continue;
      const { status } = await this.#decided(happening.audit as number);
      const said = status.transaction_status_code;
      // Voided means that it had been approved.
      family.happenings[index] = { ...happening, outcome: said === 'voided' ? 'approved' : said };
    }
    this.#count(family);
    const state = explained(family.born, family.happenings);
    if (state === undefined) throw new Error(`no order of these explains the answers:\n${told(family)}`);

    const complaints: string[] = [];
    const compare = (what: string, ours: unknown, theirs: unknown) => {
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
    const audits = (list: readonly { audit: number }[]) =>
      list.map(({ audit }) => audit).sort((one, other) => one - other);
    compare('the transactions that are stored', audits([...state.values()]), audits(rows));
    complaints.push(...(await this.#ledgerAgainst(state, rows)));
    if (complaints.length > 0) throw new Error(`${complaints.join('\n')}\nafter:\n${told(family)}`);
  }

  /** What the model says was charged, against what the acquirer says. */
  async #ledgerAgainst(state: State, rows: readonly StoredTransaction[]): Promise<string[]> {
    const referenceOf = new Map(rows.map(({ audit, acquirerReference }) => [audit, acquirerReference]));
    const references = new Set(referenceOf.values());
    const expected = [...state.values()].map(
      ({ audit, type, status, amountCents, completedBy }): Booked => ({
        type,
        status,
        amountCents,
        completedBy: completedBy ?? null,
        acquirerReference: referenceOf.get(audit) ?? `audit ${audit}, which is not stored`,
      }),
    );
    const entries = await this.#installation.ledger();
    return differences(
      expected,
      entries.filter(({ reference }) => references.has(reference)),
    );
  }

  async #decided(audit: number): Promise<Json> {
    const limitMs = performance.now() + DECISION_LIMIT_MS;
    for (let number = 0; performance.now() < limitMs; number += 1) {
      const { body } = await this.#call(number, 'GET', `/transactions/${audit}`);
      if (body.status.transaction_status_code !== 'unknown') return body;
      await sleep(10);
    }
    throw new Error(`audit ${audit} was not decided within ${DECISION_LIMIT_MS / 1000} s`);
  }

  #call(number: number, method: string, path: string, request?: CallRequest): Promise<CallAnswer> {
    const { baseUrl } = this.#gateways[number % this.#gateways.length] as AttackedGateway;
    return call({ baseUrl, authorization: this.#installation.authorization }, method, path, request);
  }

  #count({ happenings }: Family): void {
    const add = (counts: Record<string, number>, name: string) => {
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
function chosen(
  { made }: Family,
  { kind, of, wild }: OperationPlan,
): { kind: OperationKind; targetAudit: number } {
  const target = (list: readonly Made[]) => (list[of % list.length] as Made).audit;
  if (wild) return { kind, targetAudit: target(made) };
  // A void of the root ends the race, and so is rare.
  if (kind === 'void' && of === 0) return { kind, targetAudit: made[0].audit };
  for (const sensible of [kind, 'refund', 'completion'] as const) {
    const targets = made.filter((each) => MEANT_FOR[sensible].includes(each.kind));
    if (targets.length > 0) return { kind: sensible, targetAudit: target(targets) };
  }
  throw new Error('a family without a purchase or a preauthorisation');
}

function expectedOf(transaction: Life) {
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

function shownBy({ status, transaction, kvps, _links }: Json) {
  return {
    status: status.transaction_status_code,
    amount: transaction.amount_details.total_amount,
    refundable: kvps['GATEWAY.RESPONSE.KVP.REFUNDABLE_AMOUNT'],
    completable: kvps['GATEWAY.RESPONSE.KVP.COMPLETABLE_AMOUNT'],
    links: ['completion', 'refund', 'void'].filter((name) => name in _links),
  };
}

/** A family's operations in the order in which they were sent, one a line. */
function told({ born: initial, happenings }: Family): string {
  const [root] = initial.values();
  const lines = [...happenings]
    .sort((one, other) => one.sentMs - other.sentMs)
    .map(({ operation, gateway, sentMs, answeredMs, audit, outcome, refused }) => {
      const asked = `${operation.kind} ${operation.amountCents ?? ''} of ${operation.targetAudit}`;
      const when = `${sentMs.toFixed(1)} to ${answeredMs.toFixed(1)} ms at gateway ${gateway}`;
      return `  ${when}: ${asked} → ${refused ?? `audit ${audit} ${outcome}`}`;
    });
  return [`  ${root?.type} ${root?.amountCents}, audit ${root?.audit}`, ...lines].join('\n');
}
