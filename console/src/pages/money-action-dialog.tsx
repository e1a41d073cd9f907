// The dialogue in which an operator voids, refunds or completes: how much, why, what will happen, and afterwards the new audit.
import { Alert, Button, Group, Stack, Textarea, TextInput } from '@mantine/core';
import { type FormEvent, type ReactNode, useMemo, useRef, useState } from 'react';
import { Link } from 'wouter';
import type { OperatorRequestAnswer } from '../../../src/console/interface.js';
import { useAct } from '../acting.js';
import { Problem } from '../api/problem.js';
import { Dialog } from '../forms/dialog.js';
import { StatusMark } from '../marks.js';
import { Failure } from '../states.js';
import { amountText, centsIn, moment, money } from '../words.js';
import { MoneyActionStore } from './money-action.js';

export type MoneyActionName = 'void' | 'refund' | 'completion';

export const MONEY_ACTIONS: Readonly<
  Record<MoneyActionName, { readonly title: string; readonly done: string }>
> = {
  void: { title: 'Void', done: 'The payment is taken back whole, as if it had not been.' },
  refund: { title: 'Refund', done: 'The customer gets this much back.' },
  completion: { title: 'Complete', done: 'The merchant takes this much of what was held.' },
};

export interface MoneyActionDialogProps {
  readonly organisation: number;
  readonly audit: number;
  readonly action: MoneyActionName;
  readonly mostCents: number | null;
  readonly currency: string;
  close(): void;
}

export function MoneyActionDialog(props: MoneyActionDialogProps): ReactNode {
  const { organisation, audit, action, mostCents, currency, close } = props;
  const keeper = useMemo(
    () => new MoneyActionStore(organisation, audit, action),
    [organisation, audit, action],
  );
  const [moneyAction, setMoneyAction] = useState(() => keeper.begin());
  const [amount, setAmount] = useState(
    moneyAction.sent?.amount ?? (mostCents === null ? '' : amountText(mostCents, currency)),
  );
  const [reason, setReason] = useState(moneyAction.sent?.reason ?? '');
  const [error, setError] = useState<unknown>();
  const [answer, setAnswer] = useState<OperatorRequestAnswer>();
  const [isBusy, setBusy] = useState(false);
  const isSending = useRef(false);
  const act = useAct();
  const cents = centsIn(amount, currency);
  const isAmountWrong = mostCents !== null && (cents === undefined || cents === 0 || cents > mostCents);
  const isFixed = moneyAction.sent !== undefined;

  const leave = () => {
    if (!isFixed) keeper.end();
    close();
  };
  const anew = () => {
    keeper.end();
    setMoneyAction(keeper.begin());
    setError(undefined);
  };
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (isSending.current || isAmountWrong) return;
    isSending.current = true;
    setBusy(true);
    setError(undefined);
    setMoneyAction(keeper.sending(moneyAction, { amount, reason }));
    try {
      const body = { key: moneyAction.key, reason, ...(mostCents !== null && { amount_cents: cents }) };
      setAnswer(await act<OperatorRequestAnswer>(`/transactions/${organisation}/${audit}/${action}`, body));
      keeper.end();
    } catch (refused) {
      // Nothing was done: the next attempt gets a new key.
      if (refused instanceof Problem && refused.status >= 400 && refused.status < 500) anew();
      setError(refused);
    } finally {
      isSending.current = false;
      setBusy(false);
    }
  };

  const { title, done } = MONEY_ACTIONS[action];
  return (
    <Dialog title={`${title} transaction ${audit}`} close={leave}>
      {answer !== undefined ? (
        <Outcome answer={answer} close={close} />
      ) : (
        <form onSubmit={(event) => void submit(event)}>
          <Stack>
            {isFixed && !isBusy && (
              <Alert variant="outline" title="This was sent before">
                <p>No answer arrived. Sending it again repeats the same request: it cannot happen twice.</p>
                <Button size="compact-sm" variant="default" onClick={anew}>
                  Start a new one instead
                </Button>
              </Alert>
            )}
            <p>
              {done} {mostCents !== null && `At most ${money(mostCents, currency)}.`}
            </p>
            {mostCents !== null && (
              <TextInput
                label={`Amount in ${currency}`}
                name="amount"
                inputMode="decimal"
                required
                disabled={isFixed}
                value={amount}
                error={
                  isAmountWrong
                    ? `From ${amountText(1, currency)} to ${amountText(mostCents, currency)}`
                    : undefined
                }
                onChange={(event) => setAmount(event.currentTarget.value)}
              />
            )}
            <Textarea
              label="Reason"
              description="Kept in the journal under your name. No card number."
              name="reason"
              required
              disabled={isFixed}
              value={reason}
              onChange={(event) => setReason(event.currentTarget.value)}
            />
            {error !== undefined && <Failure error={error} />}
            <Group justify="flex-end">
              <Button variant="default" onClick={leave}>
                Cancel
              </Button>
              <Button type="submit" color="red" loading={isBusy}>
                {title} {mostCents !== null && cents !== undefined ? money(cents, currency) : ''}
              </Button>
            </Group>
          </Stack>
        </form>
      )}
    </Dialog>
  );
}

function Outcome({ answer, close }: { readonly answer: OperatorRequestAnswer; close(): void }): ReactNode {
  const { state, organisation, audit, status, response_message, failure, request, alone_from } = answer;
  return (
    <Stack role="status">
      {state === 'waiting' && (
        <p>
          It is above the limit, so it waits for a second person: request {request} on{' '}
          <Link href="/approvals">Approvals</Link>. Nothing was done yet.
          {alone_from !== null && ` Nobody else can approve it, so you can, from ${moment(alone_from)} on.`}
        </p>
      )}
      {(state === 'ready' || state === 'approved') && (
        <p>
          It is still being processed. For the outcome of request {request} see{' '}
          <Link href="/approvals?all=true">Approvals</Link>.
        </p>
      )}
      {state === 'expired' && <p>It has expired: nothing was done.</p>}
      {failure !== null && <p>It was not done: {failure}.</p>}
      {audit !== null && (
        <p>
          New transaction{' '}
          <Link href={`/transactions/${organisation}/${audit}`} onClick={close}>
            {audit}
          </Link>{' '}
          {status !== null && <StatusMark status={status} />} {response_message}
        </p>
      )}
      <Group justify="flex-end">
        <Button onClick={close} data-autofocus>
          Close
        </Button>
      </Group>
    </Stack>
  );
}
