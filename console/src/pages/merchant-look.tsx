// How a merchant looks to payers: its name, colour and logo on their pages.
import { Button, Group } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import type { Answer } from '../../../src/console/interface.js';
import { useAct } from '../acting.js';
import { FileDrop } from '../forms/file-drop.js';
import { FormDialog } from '../forms/form-dialog.js';
import { useNotify } from '../notices.js';
import { Failure } from '../states.js';
import { count } from '../words.js';

export function MerchantLook({
  merchant,
  close,
}: {
  readonly merchant: Answer<'GET /merchants'>[number];
  close(): void;
}): ReactNode {
  const act = useAct();
  const notify = useNotify();
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>();
  const { id, name, display_name, colour, logo_bytes } = merchant;
  const logo = async (send: () => Promise<unknown>, done: string) => {
    setBusy(true);
    setError(undefined);
    try {
      await send();
      notify(done);
    } catch (refused) {
      setError(refused);
    } finally {
      setBusy(false);
    }
  };
  return (
    <FormDialog
      title={`Look of ${name}`}
      submit="Save"
      fields={[
        {
          name: 'display_name',
          label: 'Name',
          initial: display_name,
          description: 'What payers read instead of the merchant’s own name',
        },
        {
          name: 'colour',
          label: 'Colour',
          initial: colour,
          placeholder: '#0b5cad',
          description: 'Of buttons and links. It is made darker or lighter where it could not be read.',
        },
      ]}
      // What was emptied is taken away.
      send={(body) => act(`/merchants/${id}`, { display_name: null, colour: null, ...body })}
      close={close}
    >
      <p>Payers see this on the pages of checkouts.</p>
      <FileDrop
        label={
          logo_bytes === undefined
            ? 'Logo: drop a PNG or a plain SVG of 64 kB at most'
            : `Logo of ${count(logo_bytes)} bytes: drop another one to replace it`
        }
        isBusy={isBusy}
        take={(file) => void logo(() => act(`/merchants/${id}/logo`, file), 'The logo is set.')}
      />
      {logo_bytes !== undefined && (
        <Group>
          <Button
            size="compact-sm"
            variant="default"
            disabled={isBusy}
            onClick={() =>
              void logo(() => act(`/merchants/${id}`, { remove_logo: true }), 'The logo is removed.')
            }
          >
            Remove the logo
          </Button>
        </Group>
      )}
      {error !== undefined && <Failure error={error} />}
    </FormDialog>
  );
}
