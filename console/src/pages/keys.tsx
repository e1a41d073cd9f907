// Keys: how old each merchant's are, how much they seal, and to rotate them.
import { Progress } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import type { Answer } from '../../../src/console/interface.js';
import { useAct } from '../acting.js';
import { get } from '../api/calls.js';
import { useRead } from '../api/queries.js';
import { DialogButton } from '../forms/dialogs.js';
import type { Field } from '../forms/field.js';
import { FormDialog } from '../forms/form-dialog.js';
import type { Column } from '../lists/column.js';
import { List } from '../lists/list.js';
import { useLive } from '../live.js';
import { Mark } from '../marks.js';
import { Page, Section } from '../shell/page.js';
import { count, moment } from '../words.js';
import { AllFacts } from './facts.js';
import { Destroy, Rewrap } from './key-actions.js';

type Key = Answer<'GET /keys'>[number];

const DAY_MS = 86_400_000;
const heldBy = ({ tokens, transactions, webhooks }: Key) => tokens + transactions + webhooks;

export default function Keys(): ReactNode {
  const query = useRead('GET /keys', {}, { everyMs: 5_000 });
  const { aheadMs } = useLive();
  const age = ({ created_at }: Key) => Math.floor((Date.now() + aheadMs - Date.parse(created_at)) / DAY_MS);
  const columns: readonly Column<Key>[] = [
    {
      key: 'merchant',
      title: 'Merchant',
      show: ({ merchant }) => merchant,
      sortBy: ({ merchant }) => merchant,
    },
    { key: 'version', title: 'Version', number: true, show: ({ version }) => version },
    { key: 'seals', title: 'Seals now', show: ({ seals }) => (seals ? <Mark word="yes" /> : 'no') },
    { key: 'age', title: 'Age', number: true, show: (key) => `${count(age(key))} days`, sortBy: age },
    { key: 'created', title: 'Made', show: ({ created_at }) => moment(created_at), wide: true },
    { key: 'holds', title: 'Holds', number: true, show: (key) => count(heldBy(key)), sortBy: heldBy },
    { key: 'due', title: 'Due', show: ({ due }) => due ?? '–', wide: true },
    {
      key: 'destroy',
      title: 'Destroy',
      show: (key) => (key.seals || heldBy(key) > 0 ? '–' : <Destroy of={key} />),
      wide: true,
    },
    {
      key: 'kek',
      title: 'Wrapped by',
      show: ({ key_encryption_key }) => <div className="cut">{key_encryption_key}</div>,
      wide: true,
    },
  ];
  return (
    <Page title="Keys" actions={<Actions />}>
      <Rotation keys={query.data ?? []} />
      <List
        caption="Keys"
        query={query}
        columns={columns}
        keyOf={({ merchant, version }) => `${merchant} ${version}`}
        empty="No key"
        emptyAdvice="A merchant gets its first key when something of it is sealed."
      />
    </Page>
  );
}

interface RotationState {
  readonly running: boolean;
  readonly begun_by?: string;
  readonly now?: { readonly merchant: number; readonly done: number; readonly total: number };
  readonly rows?: number;
  readonly broken?: number;
  readonly failed?: boolean;
}

/** How far the rotation is that somebody has begun here, and how much is under the newest keys. */
function Rotation({ keys }: { readonly keys: readonly Key[] }): ReactNode {
  const { data: rotation } = useQuery({
    queryKey: ['rotation'],
    queryFn: () => get<RotationState>('/keys/rotation'),
    refetchInterval: ({ state }) => (state.data?.running === true ? 1_000 : 10_000),
  });
  const all = keys.reduce((sum, key) => sum + heldBy(key), 0);
  const current = keys.filter(({ seals }) => seals).reduce((sum, key) => sum + heldBy(key), 0);
  const now = rotation?.running === true ? rotation.now : undefined;
  if (all === 0 && rotation?.running !== true) return null;
  return (
    <Section title="Rotation">
      <p role="status">{rotation === undefined ? '' : inWords(rotation)}</p>
      <p>
        {count(current)} of {count(all)} sealed values are under the newest keys.
      </p>
      <Progress
        value={
          now === undefined
            ? all === 0
              ? 0
              : (current / all) * 100
            : (now.done / Math.max(now.total, 1)) * 100
        }
        aria-label="Sealed under the newest keys"
        size="lg"
      />
    </Section>
  );
}

function inWords({ running, begun_by, now, rows, broken, failed }: RotationState): string {
  if (running)
    return now === undefined
      ? `${begun_by} rotates keys.`
      : `${begun_by} rotates keys: merchant ${now.merchant}, ${count(now.done)} of ${count(now.total)}.`;
  if (failed === true) return 'The last rotation was broken off. What it did stays done: begin it again.';
  if (rows === undefined) return '';
  return `The last rotation sealed ${count(rows)} values anew${broken ? `, and could not open ${count(broken)}` : ''}.`;
}

const MERCHANT: Field = {
  name: 'merchant',
  label: 'Merchant',
  kind: 'number',
  description: 'Empty: every merchant',
};

function Actions(): ReactNode {
  const act = useAct();
  return (
    <>
      <DialogButton
        task="keys verify"
        label="Verify"
        dialog={(close) => (
          <FormDialog<object>
            title="Verify what is sealed"
            submit="Verify"
            fields={[MERCHANT]}
            send={(body) => act('/keys/verify', body)}
            result={(verified) => <AllFacts of={verified} />}
            close={close}
          >
            <p>Opens every sealed value once, and shows none of them.</p>
          </FormDialog>
        )}
      />
      <Rewrap />
      <DialogButton
        task="keys rotate"
        label="Rotate"
        primary
        dialog={(close) => (
          <FormDialog
            title="Rotate keys"
            submit="Rotate"
            fields={[MERCHANT]}
            send={(body) => act('/keys/rotate', body)}
            close={close}
          >
            <p>Makes new keys and re-encrypts everything. Payments continue meanwhile.</p>
          </FormDialog>
        )}
      />
    </>
  );
}
