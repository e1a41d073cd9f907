// The journal: who did what, and whether any entry was altered.
import { Button, TextInput } from '@mantine/core';
import { type FormEvent, type ReactNode, useState } from 'react';
import { useSearchParams } from 'wouter';
import { useAct } from '../acting.js';
import { useRead } from '../api/queries.js';
import { DayInput } from '../forms/day-input.js';
import { DialogButton } from '../forms/dialogs.js';
import { FormDialog } from '../forms/form-dialog.js';
import { searchOf } from '../lists/filtered.js';
import { List } from '../lists/list.js';
import { useMay } from '../session.js';
import { Page } from '../shell/page.js';
import { Empty } from '../states.js';
import { AllFacts } from './facts.js';
import { JOURNAL_COLUMNS } from './journal-columns.js';
import { useMerchantChoice } from './merchant-choice.js';

const FILTERS = [
  { name: 'user', label: 'Who', type: 'text' },
  { name: 'action', label: 'What', type: 'text' },
  { name: 'from', label: 'From', type: 'date' },
  { name: 'until', label: 'Until', type: 'date' },
] as const;

export default function Journal(): ReactNode {
  const [search, setSearch] = useSearchParams();
  const { merchant, isChosen, isNone, chooser } = useMerchantChoice('all');
  const filter = Object.fromEntries(FILTERS.map(({ name }) => [name, search.get(name) ?? '']));
  const query = useRead(
    'GET /journal',
    { query: { ...filter, merchant, limit: 1_000 } },
    { keepPrevious: true, when: isChosen },
  );
  const [typed, setTyped] = useState(filter);
  const mayVerify = useMay('journal verify');
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setSearch(new URLSearchParams(searchOf({ ...typed, merchant })));
  };
  return (
    <Page title="Journal" beside={chooser} actions={mayVerify && <Verify />}>
      <form className="filters" onSubmit={submit}>
        {FILTERS.map(({ name, label, type }) => {
          const now = typed[name] ?? '';
          const set = (value: string) => setTyped((before) => ({ ...before, [name]: value }));
          return type === 'date' ? (
            <DayInput key={name} label={label} value={now} choose={set} />
          ) : (
            <TextInput
              key={name}
              label={label}
              value={now}
              onChange={({ currentTarget: { value } }) => set(value)}
            />
          );
        })}
        <Button type="submit">Show</Button>
      </form>
      {isNone && <Empty title="No merchant to choose">Look at the other mode.</Empty>}
      {isChosen && (
        <List
          caption="Journal"
          query={query}
          columns={JOURNAL_COLUMNS}
          keyOf={({ id }) => id}
          empty="No matching entry"
          emptyAdvice="Take a filter away."
        />
      )}
    </Page>
  );
}

function Verify(): ReactNode {
  const act = useAct();
  return (
    <DialogButton
      label="Verify"
      primary
      dialog={(close) => (
        <FormDialog<object>
          title="Verify the journal"
          submit="Verify"
          send={() => act('/journal/verify')}
          result={(verified) => <AllFacts of={verified} />}
          close={close}
        >
          <p>Checks every entry against its seal. A long journal takes a while.</p>
        </FormDialog>
      )}
    />
  );
}
