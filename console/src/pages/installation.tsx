// The installation: its clock, where it can be moved, and the sealed cards with the reason why each is kept.
import { Button } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import type { Answer } from '../../../src/console/interface.js';
import { useAct } from '../acting.js';
import { useRead } from '../api/queries.js';
import { DialogButton } from '../forms/dialogs.js';
import { FormDialog } from '../forms/form-dialog.js';
import type { Column } from '../lists/column.js';
import { DataTable } from '../lists/data-table.js';
import { useMay } from '../session.js';
import { Page, Section } from '../shell/page.js';
import { Failure, Shown } from '../states.js';
import { count, moment } from '../words.js';
import { Facts } from './facts.js';

export default function Installation(): ReactNode {
  const mayLook = useMay('cards status');
  return (
    <Page title="Clock and cards">
      <Clock />
      {mayLook && <Cards />}
    </Page>
  );
}

interface ClockAnswer {
  readonly now: string;
  readonly advanced_ms: number;
}

const HOUR_MS = 3_600_000;

function ahead(ms: number): string {
  const hours = Math.floor(ms / HOUR_MS);
  return hours < 48 ? `${count(hours)} hours` : `${count(Math.floor(hours / 24))} days, ${hours % 24} hours`;
}

function Clock(): ReactNode {
  const act = useAct();
  const query = useRead('GET /clock', {}, { everyMs: 10_000 });
  const result = ({ now }: ClockAnswer) => <p>It is {moment(now)} for the gateway now.</p>;
  return (
    <Section title="Clock">
      <Shown query={query}>
        {({ now, advanced_ms }) => (
          <>
            <p>
              It is {moment(now)} for the gateway,{' '}
              {advanced_ms === 0 ? 'as for everybody.' : `${ahead(advanced_ms)} ahead of real time.`}
            </p>
            <DialogButton
              task="clock advance"
              label="Advance"
              dialog={(close) => (
                <FormDialog<ClockAnswer>
                  title="Advance the clock"
                  submit="Advance"
                  fields={[
                    {
                      name: 'duration',
                      label: 'By how much',
                      required: true,
                      placeholder: '3d',
                      description: 'A number and a unit: 3d, 12h, 30m or 45s',
                    },
                  ]}
                  send={(body) => act('/clock/advance', body)}
                  result={result}
                  close={close}
                >
                  <p>
                    Days close, holds end and direct debits clear as if the time had passed. Only where every
                    acquirer is simulated and no merchant is live.
                  </p>
                </FormDialog>
              )}
            />{' '}
            {advanced_ms > 0 && (
              <DialogButton
                task="clock reset"
                label="Back to real time"
                dialog={(close) => (
                  <FormDialog<ClockAnswer>
                    title="Back to real time"
                    submit="Bring it back"
                    send={() => act('/clock/reset')}
                    result={result}
                    close={close}
                  >
                    <p>Refused if anything has happened since that would then lie in the future.</p>
                  </FormDialog>
                )}
              />
            )}
          </>
        )}
      </Shown>
    </Section>
  );
}

type CardLine = Answer<'GET /cards'>['merchants'][number];

const COLUMNS: readonly Column<CardLine>[] = [
  { key: 'merchant', title: 'Merchant', show: ({ merchant }) => merchant },
  { key: 'why', title: 'Why it is kept', show: ({ why }) => why },
  { key: 'cards', title: 'Cards', number: true, show: ({ cards }) => count(cards) },
  { key: 'oldest', title: 'Oldest', show: ({ oldest }) => moment(oldest), wide: true },
  { key: 'until', title: 'Kept until at most', show: ({ until }) => moment(until), wide: true },
  { key: 'overdue', title: 'Overdue', number: true, show: ({ overdue }) => count(overdue) },
];

/** Reads every sealed card, so only on request. */
function Cards(): ReactNode {
  const act = useAct();
  const [isWanted, setWanted] = useState(false);
  const query = useRead('GET /cards', {}, { when: isWanted });
  return (
    <Section title="Sealed cards">
      <p>
        A card is destroyed when nothing needs it any more. Checking all of them takes a moment if there are
        many.
      </p>
      <Button
        variant="default"
        loading={query.isFetching}
        onClick={() => (isWanted ? void query.refetch() : setWanted(true))}
      >
        Check every card
      </Button>{' '}
      <DialogButton
        task="cards review"
        label="Review"
        dialog={(close) => (
          <FormDialog<{ readonly merchants: number }>
            title="Review every card"
            submit="Begin"
            fields={[
              { name: 'merchant', label: 'Merchant', kind: 'number', description: 'Empty: every merchant' },
            ]}
            send={(body) => act('/cards/review', body)}
            result={({ merchants }) => <p>The cards of {count(merchants)} merchants are looked at again.</p>}
            close={close}
          >
            <p>The gateways check every card again and destroy those past their time.</p>
          </FormDialog>
        )}
      />
      {query.isError && <Failure error={query.error} />}
      {query.data !== undefined && (
        <>
          <Facts
            facts={{
              'Sealed cards': count(query.data.cards),
              'Should be gone': count(query.data.overdue),
              'Sealed bank accounts': count(query.data.bank_accounts),
              'Destroyed so far': count(query.data.destroyed),
            }}
          />
          <DataTable
            caption="Cards"
            columns={COLUMNS}
            rows={query.data.merchants}
            keyOf={({ merchant, why }) => `${merchant} ${why}`}
          />
        </>
      )}
    </Section>
  );
}
