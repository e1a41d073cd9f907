// Settlement differences to work through: what each may mean, what to do, and marking them as looked at.
import { Group, Switch } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { Link } from 'wouter';
import type { Answer } from '../../../src/console/interface.js';
import { useAct } from '../acting.js';
import { useRead } from '../api/queries.js';
import { DialogButton } from '../forms/dialogs.js';
import { FormDialog } from '../forms/form-dialog.js';
import { Mark } from '../marks.js';
import { useMay } from '../session.js';
import { Section } from '../shell/page.js';
import { Shown } from '../states.js';
import { count, moment, spaced } from '../words.js';

type Found = Answer<'GET /settlement/differences'>;
type Difference = Found['differences'][number];

const KINDS: Readonly<Record<Difference['kind'], string>> = {
  missing_here: 'Not here',
  missing_there: 'Not in the file',
  different: 'Different',
  wrong: 'Not readable',
};

/** The differences of one day, with links to other days that have open ones. */
export function OpenDifferences({
  date,
  show,
}: {
  readonly date: string;
  show(date: string): void;
}): ReactNode {
  const may = useMay('settlement differences');
  const [all, setAll] = useState(false);
  const query = useRead(
    'GET /settlement/differences',
    { query: { date, ...(all && { all: 'true' }) } },
    { when: may },
  );
  if (!may) return null;
  return (
    <Section title="Differences to work through">
      <Shown query={query}>
        {({ differences, days }) => (
          <>
            <OtherDays days={days.filter((day) => day.date !== date)} show={show} />
            <Group mb="sm">
              {days
                .filter((day) => day.date === date)
                .map((day) => (
                  <AllLookedAt key={day.acquirer} day={day} />
                ))}
            </Group>
            <Switch
              label="Also those that are looked at, or gone"
              checked={all}
              onChange={(event) => setAll(event.currentTarget.checked)}
              mb="sm"
            />
            {differences.length === 0 ? (
              <p className="dim">None on this day.</p>
            ) : (
              <ul className="differences" aria-label="Differences">
                {differences.map((difference) => (
                  <li key={difference.id}>
                    <OneDifference difference={difference} />
                  </li>
                ))}
              </ul>
            )}
          </>
        )}
      </Shown>
    </Section>
  );
}

/** For a wrong file: hundreds of differences at once. */
function AllLookedAt({ day: { date, acquirer, open } }: { readonly day: Found['days'][number] }): ReactNode {
  const act = useAct();
  const whose = `${count(open)} of ${acquirer === '' ? 'no acquirer' : acquirer}`;
  return (
    <DialogButton
      task="settlement looked-at"
      label={`All ${whose} are looked at`}
      small
      dialog={(close) => (
        <FormDialog
          title={`Looked at all ${whose}, ${date}`}
          submit="Mark all as looked at"
          fields={[{ name: 'note', label: 'What came of it', kind: 'lines', required: true }]}
          send={(body) => act('/settlement/differences/looked-at', { ...body, date, acquirer, open })}
          close={close}
        >
          <p>All of them leave the list. The note stays with each, under your name, and in the journal.</p>
        </FormDialog>
      )}
    />
  );
}

function OtherDays({ days, show }: { readonly days: Found['days']; show(date: string): void }): ReactNode {
  if (days.length === 0) return null;
  return (
    <p>
      Open on other days:{' '}
      {days.map(({ date, acquirer, open }, index) => (
        <span key={`${date} ${acquirer}`}>
          {index > 0 && ', '}
          <a
            href={`?date=${date}`}
            onClick={(event) => {
              event.preventDefault();
              show(date);
            }}
          >
            {date} {acquirer}
          </a>{' '}
          ({count(open)})
        </span>
      ))}
    </p>
  );
}

function OneDifference({ difference }: { readonly difference: Difference }): ReactNode {
  const { kind, reference, there, here, meaning, todo, acquirer, organisation_id, audit } = difference;
  return (
    <>
      <div className="difference-head">
        <Mark word={KINDS[kind]} tone={isDone(difference) ? 'good' : 'doubt'} />
        <strong>
          {audit === null ? (
            reference
          ) : (
            <Link href={`/transactions/${organisation_id}/${audit}`}>{reference}</Link>
          )}
        </strong>
        <span className="dim">{acquirer}</span>
      </div>
      <p>
        {there !== '' && `In the file: ${spaced(there)}. `}
        {here !== '' && `Here: ${spaced(here)}.`}
      </p>
      <p>{meaning}</p>
      <p>
        <strong>What to do:</strong> {todo}
      </p>
      <Ending difference={difference} />
    </>
  );
}

function isDone({ looked, gone }: Difference): boolean {
  return looked !== null || gone !== null;
}

function Ending({ difference }: { readonly difference: Difference }): ReactNode {
  const act = useAct();
  const { id, looked, looked_by, note, gone, reference } = difference;
  if (looked !== null)
    return (
      <p className="dim">
        Looked at by {looked_by}, {moment(looked)}: {note}
      </p>
    );
  if (gone !== null) return <p className="dim">A later file did not have it any more ({moment(gone)}).</p>;
  return (
    <DialogButton
      task="settlement looked-at"
      label="Looked at"
      small
      dialog={(close) => (
        <FormDialog
          title={`Looked at ${reference}`}
          submit="Mark as looked at"
          fields={[{ name: 'note', label: 'What came of it', kind: 'lines', required: true }]}
          send={(body) => act(`/settlement/differences/${id}/looked-at`, body)}
          close={close}
        >
          <p>It leaves the list. The note stays with it, under your name, and in the journal.</p>
        </FormDialog>
      )}
    />
  );
}
