// Settlement: the totals of a day by merchant and acquirer, and reconciliation with an acquirer's file.
import { Button, NativeSelect } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { useSearchParams } from 'wouter';
import type { Answer, ReconciliationAnswer } from '../../../src/console/interface.js';
import { useAct, useSave } from '../acting.js';
import { withQuery } from '../api/calls.js';
import { useRead } from '../api/queries.js';
import { DayInput } from '../forms/day-input.js';
import { FileDrop } from '../forms/file-drop.js';
import type { Column } from '../lists/column.js';
import { DataTable } from '../lists/data-table.js';
import { useLive } from '../live.js';
import { Mark } from '../marks.js';
import { useMode } from '../mode.js';
import { useMay } from '../session.js';
import { Page, Section } from '../shell/page.js';
import { Empty, Failure, Shown } from '../states.js';
import { count, dayOf, daysLater, money, spaced } from '../words.js';
import { OpenDifferences } from './differences.js';
import { useIsOfMode, useMerchantChoice } from './merchant-choice.js';
import { Differences } from './settlement-differences.js';

type Report = Answer<'GET /settlement'>;
type Line = Report['lines'][number];
type Net = Report['net'][number];

const LINES: readonly Column<Line>[] = [
  {
    key: 'merchant',
    title: 'Merchant',
    show: ({ merchant_id }) => merchant_id,
    sortBy: ({ merchant_id }) => merchant_id,
  },
  {
    key: 'acquirer',
    title: 'Acquirer',
    show: ({ acquirer }) => acquirer,
    sortBy: ({ acquirer }) => acquirer,
  },
  { key: 'card', title: 'Card type', show: ({ card_type }) => spaced(card_type), wide: true },
  { key: 'type', title: 'Type', show: ({ transaction_type }) => spaced(transaction_type) },
  {
    key: 'count',
    title: 'Count',
    number: true,
    show: ({ count: number }) => count(number),
    sortBy: ({ count: number }) => number,
  },
  {
    key: 'amount',
    title: 'Amount',
    number: true,
    show: ({ cents, currency }) => money(cents, currency),
    sortBy: ({ cents }) => Number(cents),
  },
];

const NET: readonly Column<Net>[] = [
  { key: 'merchant', title: 'Merchant', show: ({ merchant_id }) => merchant_id },
  { key: 'currency', title: 'Currency', show: ({ currency }) => currency },
  { key: 'net', title: 'Net', number: true, show: ({ cents, currency }) => money(cents, currency) },
];

export default function Settlement(): ReactNode {
  const save = useSave();
  const [search, setSearch] = useSearchParams();
  const { aheadMs } = useLive();
  const date = search.get('date') ?? dayOf(Date.now() + aheadMs);
  const { merchant, isChosen, isNone, chooser } = useMerchantChoice('all');
  const mode = useMode();
  const isOfMode = useIsOfMode();
  const query = useRead(
    'GET /settlement',
    { query: { date, merchant } },
    { keepPrevious: true, when: isChosen && isOfMode !== undefined },
  );
  const mayAct = useMay('settlement reconcile');
  const show = (day: string) =>
    setSearch((before) => {
      const after = new URLSearchParams(before);
      after.set('date', day);
      return after;
    });
  return (
    <Page
      title="Settlement"
      beside={
        query.data !== undefined && (
          <Mark word={query.data.closed ? 'closed' : 'open'} tone={query.data.closed ? 'good' : 'doubt'} />
        )
      }
      actions={
        <>
          {chooser}
          <Button variant="default" onClick={() => show(daysLater(date, -1))} aria-label="The day before">
            ‹
          </Button>
          <DayInput aria-label="Settlement day" value={date} choose={(day) => day !== '' && show(day)} />
          <Button variant="default" onClick={() => show(daysLater(date, 1))} aria-label="The day after">
            ›
          </Button>
          <Button
            variant="default"
            onClick={() => void save(withQuery('/settlement.csv', { date, merchant, mode }))}
          >
            CSV
          </Button>
        </>
      }
    >
      <OpenDifferences date={date} show={show} />
      {isNone && <Empty title="No merchant to choose">Look at the other mode.</Empty>}
      {isChosen && (
        <Shown query={query}>
          {(report) => {
            const shown = ({ merchant_id }: Line | Net) => isOfMode?.(merchant_id) ?? false;
            const [lines, net] = [report.lines.filter(shown), report.net.filter(shown)];
            return lines.length === 0 ? (
              <Empty title="Nothing settles on this day">
                Choose another day. Payments after the cut-off settle on the next business day.
              </Empty>
            ) : (
              <>
                <Section title="Net by merchant">
                  <DataTable
                    caption="Net"
                    columns={NET}
                    rows={net}
                    keyOf={({ merchant_id, currency }) => `${merchant_id} ${currency}`}
                  />
                </Section>
                <Section title="Lines">
                  <DataTable
                    caption="Lines"
                    columns={LINES}
                    rows={lines}
                    keyOf={(line) => Object.values(line).join(' ')}
                  />
                </Section>
              </>
            );
          }}
        </Shown>
      )}
      {mayAct && <Reconcile date={date} />}
    </Page>
  );
}

function Reconcile({ date }: { readonly date: string }): ReactNode {
  const act = useAct();
  const known = useRead('GET /settlement/differences', { query: { date } });
  const [acquirer, setAcquirer] = useState('');
  const [isBusy, setBusy] = useState(false);
  const [found, setFound] = useState<ReconciliationAnswer>();
  const [error, setError] = useState<unknown>();
  const take = async (file: File) => {
    setBusy(true);
    setError(undefined);
    setFound(undefined);
    try {
      const query = new URLSearchParams({ date, acquirer });
      setFound(await act<ReconciliationAnswer>(`/settlement/reconcile?${query}`, file));
    } catch (refused) {
      setError(refused);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Section title="Reconciliation">
      <div className="filters">
        <NativeSelect
          label="Acquirer"
          value={acquirer}
          data={[{ value: '', label: 'choose' }, ...(known.data?.acquirers ?? [])]}
          onChange={(event) => setAcquirer(event.currentTarget.value)}
        />
      </div>
      {acquirer === '' ? (
        <p className="dim">Choose the acquirer first.</p>
      ) : (
        <FileDrop
          label={`Drop the file of ${acquirer} for ${date} here`}
          take={(file) => void take(file)}
          isBusy={isBusy}
        />
      )}
      {error !== undefined && <Failure error={error} />}
      {found !== undefined && <Differences found={found} />}
    </Section>
  );
}
