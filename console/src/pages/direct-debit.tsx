// Direct debit: items that wait for the bank, files, returns, and when debits clear.
import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import type { Answer } from '../../../src/console/interface.js';
import { useAct, useSave } from '../acting.js';
import { get } from '../api/calls.js';
import { useRead } from '../api/queries.js';
import { DialogButton } from '../forms/dialogs.js';
import { FileDrop } from '../forms/file-drop.js';
import { FormDialog } from '../forms/form-dialog.js';
import type { Column } from '../lists/column.js';
import { List } from '../lists/list.js';
import { Mark } from '../marks.js';
import { useMode } from '../mode.js';
import { useMay } from '../session.js';
import { Page, Section } from '../shell/page.js';
import { Failure } from '../states.js';
import { count, moment, money } from '../words.js';
import { BankSettings } from './bank-settings.js';
import { AllFacts } from './facts.js';

type Status = Answer<'GET /directdebit'>[number];

const DEBITS = 'AUD';

const COLUMNS: readonly Column<Status>[] = [
  {
    key: 'merchant',
    title: 'Merchant',
    show: ({ merchant }) => merchant,
    sortBy: ({ merchant }) => merchant,
  },
  { key: 'bank', title: 'Bank', show: ({ bank, simulated }) => (simulated ? 'simulated' : (bank ?? '–')) },
  {
    key: 'waiting',
    title: 'Waiting',
    number: true,
    show: ({ waiting }) => count(waiting),
    sortBy: ({ waiting }) => waiting,
  },
  { key: 'debit', title: 'To debit', number: true, show: (it) => money(it.waiting_debit_cents, DEBITS) },
  {
    key: 'credit',
    title: 'To credit',
    number: true,
    show: (it) => money(it.waiting_credit_cents, DEBITS),
    wide: true,
  },
  { key: 'held', title: 'Held', number: true, show: ({ held }) => count(held), wide: true },
  { key: 'clearing', title: 'Clearing', number: true, show: ({ clearing }) => count(clearing), wide: true },
  { key: 'cleared', title: 'Cleared', number: true, show: ({ cleared }) => count(cleared), wide: true },
  { key: 'returned', title: 'Returned', number: true, show: ({ returned }) => count(returned), wide: true },
  { key: 'files', title: 'Files', number: true, show: ({ files }) => count(files) },
];

const BANK: Column<Status> = {
  key: 'settings',
  title: 'Settings',
  show: ({ merchant }) => <BankSettings merchant={merchant} />,
};

/** As `tollgate directdebit files` lists it. */
interface DebitFile {
  readonly merchant: number;
  readonly file: number;
  readonly made: string;
  readonly processing_day: string;
  readonly items: number;
  readonly debit_cents: number;
  readonly credit_cents: number;
  readonly written: string | null;
  readonly clears: string | null;
}

export default function DirectDebit(): ReactNode {
  const query = useRead('GET /directdebit');
  const mode = useMode();
  const mayExport = useMay('directdebit export');
  const maySet = useMay('directdebit set');
  const mayImport = useMay('directdebit import-returns');
  const act = useAct();
  const make: Column<Status> = {
    key: 'export',
    title: 'File',
    show: ({ merchant, waiting }) =>
      waiting === 0 ? (
        '–'
      ) : (
        <DialogButton
          label="Make a file"
          small
          dialog={(close) => (
            <FormDialog<{ readonly file: number | null }>
              title={`Make a file of merchant ${merchant}`}
              submit="Make the file"
              send={() => act(`/directdebit/${merchant}/export`)}
              result={({ file }) =>
                file === null ? <p>Nothing was waiting.</p> : <Download merchant={merchant} file={file} />
              }
              close={close}
            >
              <p>
                {count(waiting)} debits and credits go into it. What is in a file can no longer be voided.
              </p>
            </FormDialog>
          )}
        />
      ),
  };
  return (
    <Page title="Direct debit">
      <List
        caption="Merchants"
        query={query}
        columns={[...COLUMNS, ...(mayExport ? [make] : []), ...(maySet ? [BANK] : [])]}
        keyOf={({ merchant }) => merchant}
        only={(status) => status.mode === mode}
        empty="No merchant takes direct debits"
      />
      <Files merchants={(query.data ?? []).filter((status) => status.mode === mode && status.files > 0)} />
      {mayImport && <Returns />}
    </Page>
  );
}

function Download({ merchant, file }: { readonly merchant: number; readonly file: number }): ReactNode {
  const save = useSave();
  const get = () => save(`/directdebit/${merchant}/files/${file}`);
  return (
    <Button size="compact-sm" variant="default" onClick={() => void get()}>
      Download file {file}
    </Button>
  );
}

const FILES: readonly Column<DebitFile>[] = [
  { key: 'file', title: 'File', show: ({ file }) => file, sortBy: ({ file }) => file },
  { key: 'merchant', title: 'Merchant', show: ({ merchant }) => merchant },
  { key: 'made', title: 'Made', show: ({ made }) => moment(made), sortBy: ({ made }) => made },
  { key: 'day', title: 'For', show: ({ processing_day }) => processing_day, wide: true },
  { key: 'items', title: 'Items', number: true, show: ({ items }) => count(items) },
  {
    key: 'debits',
    title: 'Debits',
    number: true,
    show: ({ debit_cents }) => money(debit_cents, DEBITS),
    wide: true,
  },
  {
    key: 'credits',
    title: 'Credits',
    number: true,
    show: ({ credit_cents }) => money(credit_cents, DEBITS),
    wide: true,
  },
  { key: 'clears', title: 'Clears', show: ({ clears }) => moment(clears), sortBy: ({ clears }) => clears },
  {
    key: 'written',
    title: 'Written',
    show: ({ written }) => (written === null ? <Mark word="waiting" /> : moment(written)),
    wide: true,
  },
];

const AGAIN: Column<DebitFile> = {
  key: 'again',
  title: 'Again',
  show: ({ merchant, file }) => <Download merchant={merchant} file={file} />,
};

/** The files of all merchants; sorted by when they clear, they are the calendar. */
function Files({ merchants }: { readonly merchants: readonly Status[] }): ReactNode {
  const numbers = merchants.map(({ merchant }) => merchant);
  const query = useQuery({
    queryKey: ['directdebit-files', numbers],
    queryFn: async () =>
      (
        await Promise.all(numbers.map((merchant) => get<DebitFile[]>(`/directdebit/${merchant}/files`)))
      ).flat(),
  });
  const mayExport = useMay('directdebit export');
  return (
    <Section title="Files, and when they clear">
      <List
        caption="Files"
        query={query}
        columns={mayExport ? [...FILES, AGAIN] : FILES}
        keyOf={({ merchant, file }) => `${merchant} ${file}`}
        empty="No file yet"
        emptyAdvice="Make one of what waits, and give it to the bank."
      />
    </Section>
  );
}

function Returns(): ReactNode {
  const act = useAct();
  const [isBusy, setBusy] = useState(false);
  const [answer, setAnswer] = useState<object>();
  const [error, setError] = useState<unknown>();
  const take = async (file: File) => {
    setBusy(true);
    setError(undefined);
    setAnswer(undefined);
    try {
      setAnswer(await act<object>('/directdebit/returns', file));
    } catch (refused) {
      setError(refused);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Section title="Returns">
      <FileDrop
        label="Drop the bank’s file of returns here"
        take={(file) => void take(file)}
        isBusy={isBusy}
      />
      {error !== undefined && <Failure error={error} />}
      {answer !== undefined && (
        <div role="status">
          <AllFacts of={answer} />
        </div>
      )}
    </Section>
  );
}
