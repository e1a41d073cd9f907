// How a merchant lodges with its bank: the settings of its direct-entry files, shown and set.
import type { ReactNode } from 'react';
import type { Answer } from '../../../src/console/interface.js';
import { useAct } from '../acting.js';
import { useRead } from '../api/queries.js';
import { Dialog } from '../forms/dialog.js';
import { DialogButton } from '../forms/dialogs.js';
import type { Field } from '../forms/field.js';
import { FormDialog } from '../forms/form-dialog.js';
import { Shown } from '../states.js';

type Settings = Answer<'GET /directdebit/:merchant/settings'>;

function fieldsOf(now: Settings): readonly Field[] {
  return [
    {
      name: 'bank',
      label: 'Bank',
      required: true,
      initial: now.bank,
      description: 'Its three letters, such as CBA',
    },
    { name: 'user_name', label: 'User name', required: true, initial: now.user_name },
    {
      name: 'user_id',
      label: 'User ID',
      required: true,
      initial: now.user_id,
      description: 'Six digits that the bank has given out',
    },
    {
      name: 'description',
      label: 'Description',
      initial: now.description,
      description: 'Up to 12 characters',
    },
    { name: 'trace_bsb', label: 'BSB for returns', required: true, initial: now.trace_bsb },
    { name: 'trace_account', label: 'Account for returns', required: true, initial: now.trace_account },
    {
      name: 'remitter',
      label: 'Remitter',
      required: true,
      initial: now.remitter,
      description: 'What customers read on their statements, up to 16 characters',
    },
    {
      name: 'clearing_days',
      label: 'Business days until cleared',
      kind: 'number',
      initial: now.clearing_days,
    },
    {
      name: 'dispute_days',
      label: 'Days in which returns are taken',
      kind: 'number',
      initial: now.dispute_days,
    },
    {
      name: 'simulated',
      label: 'The simulated bank takes the files',
      kind: 'flag',
      initial: now.simulated,
      description: 'Only for test merchants',
    },
  ];
}

export function BankSettings({ merchant }: { readonly merchant: number }): ReactNode {
  return (
    <DialogButton
      task="directdebit set"
      label="Bank"
      small
      dialog={(close) => <SettingsDialog merchant={merchant} close={close} />}
    />
  );
}

function SettingsDialog({ merchant, close }: { readonly merchant: number; close(): void }): ReactNode {
  const act = useAct();
  const query = useRead('GET /directdebit/:merchant/settings', { params: { merchant } });
  const title = `Bank settings of merchant ${merchant}`;
  // A live merchant without settings gets an empty form.
  const none = query.isError ? ({} as Settings) : query.data;
  if (none === undefined)
    return (
      <Dialog title={title} close={close}>
        <Shown query={query}>{() => null}</Shown>
      </Dialog>
    );
  return (
    <FormDialog
      title={title}
      submit="Set"
      fields={fieldsOf(none)}
      send={(body) => act(`/directdebit/${merchant}/settings`, body)}
      close={close}
    >
      <p>They decide which account of the merchant receives the money. Existing files stay as they are.</p>
    </FormDialog>
  );
}
