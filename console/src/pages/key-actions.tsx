// Key actions besides rotation: destroying a version that seals nothing, and re-wrapping all keys.
import type { ReactNode } from 'react';
import type { Answer } from '../../../src/console/interface.js';
import { useAct } from '../acting.js';
import { DialogButton } from '../forms/dialogs.js';
import { FormDialog } from '../forms/form-dialog.js';
import { count } from '../words.js';

export function Destroy({ of }: { readonly of: Answer<'GET /keys'>[number] }): ReactNode {
  const act = useAct();
  const { merchant, version } = of;
  return (
    <DialogButton
      task="keys destroy"
      label="Destroy"
      small
      danger
      dialog={(close) => (
        <FormDialog
          title={`Destroy version ${version} of merchant ${merchant}`}
          submit="Destroy for good"
          danger
          send={() => act('/keys/destroy', { merchant, version })}
          close={close}
        >
          <p>
            Nothing is sealed under this version any more. Data that a backup holds under it can never be
            opened again.
          </p>
        </FormDialog>
      )}
    />
  );
}

export function Rewrap(): ReactNode {
  const act = useAct();
  return (
    <DialogButton
      task="keys move"
      label="Re-wrap"
      dialog={(close) => (
        <FormDialog<{ readonly data_keys: number }>
          title="Re-wrap every key"
          submit="Re-wrap"
          send={() => act('/keys/rewrap')}
          result={({ data_keys }) => (
            <p>{count(data_keys)} data keys are wrapped under the current key-encryption key.</p>
          )}
          close={close}
        >
          <p>
            Wraps all data keys under the current key-encryption key, after that key was renewed. Cards are
            not touched, and payments continue meanwhile.
          </p>
        </FormDialog>
      )}
    />
  );
}
