// One transaction: details, timeline, related transactions and actions.
import { Button } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { Link } from 'wouter';
import type { TransactionAnswer } from '../../../src/console/interface.js';
import { useAct } from '../acting.js';
import { useRead } from '../api/queries.js';
import { ModeMark, StatusMark } from '../marks.js';
import { useNotify } from '../notices.js';
import { useSession } from '../session.js';
import { Page, Section } from '../shell/page.js';
import { Shown } from '../states.js';
import { moment, money, spaced } from '../words.js';
import { Facts, nameOf, textOf } from './facts.js';
import { MoneyActionStore } from './money-action.js';
import { MONEY_ACTIONS, MoneyActionDialog, type MoneyActionName } from './money-action-dialog.js';
import { RelatedGraph } from './related-graph.js';

const TASKS = {
  void: 'transaction void',
  refund: 'transaction refund',
  completion: 'transaction complete',
  ask: 'transaction ask',
} as const;

const NAMES = Object.keys(MONEY_ACTIONS) as MoneyActionName[];

export default function OneTransaction({
  params,
}: {
  readonly params: { readonly organisation: string; readonly audit: string };
}): ReactNode {
  const { organisation, audit } = params;
  const query = useRead('GET /transactions/:organisation/:audit', { params: { organisation, audit } });
  const life = query.data;
  return (
    <Page
      title={`Transaction ${audit}`}
      beside={
        life !== undefined && (
          <>
            <StatusMark status={String(life.transaction.status)} />
            <ModeMark mode={life.mode} />
          </>
        )
      }
      actions={life !== undefined && <Actions key={`${organisation}/${audit}`} life={life} />}
    >
      <Shown query={query}>{(whole) => <Life life={whole} />}</Shown>
    </Page>
  );
}

function Actions({ life }: { readonly life: TransactionAnswer }): ReactNode {
  const { transaction, actions } = life;
  const { organisation, audit } = transaction;
  const [open, setOpen] = useState(() =>
    NAMES.find((name) => new MoneyActionStore(organisation, audit, name).unanswered() !== undefined),
  );
  const { tasks } = useSession();
  const isOffered = (action: MoneyActionName | 'ask') => tasks.includes(TASKS[action]);
  if (!actions.some(({ action }) => isOffered(action)) && actions.length > 0)
    return <span className="dim">Your role is read-only.</span>;
  const chosen = actions.find(({ action }) => action === open);
  const currency = String(transaction.currency);
  return (
    <>
      {actions
        .filter(({ action }) => isOffered(action))
        .map(({ action }) =>
          action === 'ask' ? (
            <AskNow key={action} organisation={organisation} audit={audit} />
          ) : (
            <Button key={action} variant="default" aria-haspopup="dialog" onClick={() => setOpen(action)}>
              {MONEY_ACTIONS[action].title}
            </Button>
          ),
        )}
      {open !== undefined && (
        <MoneyActionDialog
          organisation={organisation}
          audit={audit}
          action={open}
          mostCents={open === 'void' ? null : (chosen?.most_cents ?? Number(transaction.amount_cents))}
          currency={currency}
          close={() => setOpen(undefined)}
        />
      )}
    </>
  );
}

export function AskNow({
  organisation,
  audit,
}: {
  readonly organisation: number;
  readonly audit: number;
}): ReactNode {
  const act = useAct();
  const notify = useNotify();
  const [isBusy, setBusy] = useState(false);
  const ask = async () => {
    setBusy(true);
    try {
      await act(`/transactions/${organisation}/${audit}/ask`);
      notify(`The acquirer is being asked about ${audit}.`);
    } catch (error) {
      notify(error instanceof Error ? error.message : String(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <Button size="compact-sm" variant="default" loading={isBusy} onClick={() => void ask()}>
      Ask now
    </Button>
  );
}

const ADVICE: Readonly<Record<NonNullable<TransactionAnswer['decline_advice']>, string>> = {
  try_again_later: 'Nobody has decided about the card: the payer can try again later',
  try_another_card: 'The payer needs another card, or another amount',
  contact_bank: 'The payer has to ask the bank, or use another card',
  fix_details: 'The payer has to check number, expiry date and security code',
  do_not_retry: 'This card must not be tried again',
};

/** Shown elsewhere on the page. */
const SAID_ABOVE = [
  'organisation',
  'merchant',
  'audit',
  'status',
  'amount_cents',
  'currency',
  'transaction_type',
];

function Life({ life }: { readonly life: TransactionAnswer }): ReactNode {
  const { transaction, merchant_name, customer, refundable_cents, completable_cents, timeline, related } =
    life;
  const { decline_advice: advice } = life;
  const { organisation, audit, merchant } = transaction;
  const currency = String(transaction.currency);
  const left = (cents: number | null) => (cents === null ? null : money(cents, currency));
  const further = Object.entries(transaction as Record<string, unknown>)
    .filter(([name]) => !SAID_ABOVE.includes(name))
    .map(([name, value]) =>
      name.endsWith('_cents') && typeof value === 'number'
        ? [nameOf(name.slice(0, -'_cents'.length)), money(value, currency)]
        : [nameOf(name), textOf(value)],
    );
  return (
    <div className="columns">
      <div>
        <Section
          title={`${spaced(String(transaction.transaction_type))} ${money(Number(transaction.amount_cents), currency)}`}
        >
          <Facts
            facts={{
              Merchant: `${merchant_name} (${merchant}), organisation ${organisation}`,
              Customer:
                customer === null ? null : (
                  <Link href={`/customers/${organisation}/${customer}`}>{customer}</Link>
                ),
              'After this decline': advice === null ? null : ADVICE[advice],
              'Left to refund': left(refundable_cents),
              'Left to complete': left(completable_cents),
              ...Object.fromEntries(further),
            }}
          />
        </Section>
        {life.kvps.length > 0 && (
          <Section title="Key-value pairs">
            <Facts
              facts={Object.fromEntries(
                life.kvps.map(({ key, value }) => [key, shownValue(key, value, merchant)]),
              )}
            />
          </Section>
        )}
        {related.nodes.length > 1 && (
          <Section title="Related transactions">
            <RelatedGraph related={related} organisation={organisation} here={audit} />
          </Section>
        )}
      </div>
      <Section title="Timeline">
        <ol className="timeline">
          {timeline.map((step, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the order is all that some steps have
            <li key={index} data-kind={step.kind}>
              <strong>{step.title}</strong>
              {step.detail !== null && <div>{step.detail}</div>}
              <div className="dim">
                {[step.at === null ? '' : moment(step.at), step.actor, step.address]
                  .filter((part) => part !== null && part !== '')
                  .join(' · ')}
              </div>
            </li>
          ))}
        </ol>
        {life.left_out.map((words) => (
          <p key={words} className="dim">
            {words}
          </p>
        ))}
      </Section>
    </div>
  );
}

/** Payments that were made on the page of a checkout name it. */
function shownValue(key: string, value: string, merchant: number): ReactNode {
  return key === 'CHECKOUT' ? <Link href={`/checkouts/${merchant}/${value}`}>{value}</Link> : value;
}
