// What is done with keys beside rotating them: to destroy a version that seals nothing, and to wrap all of them anew.
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
            Nothing is sealed under it any more. What a backup has sealed under it can never be opened again.
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
      label="Wrap anew"
      dialog={(close) => (
        <FormDialog<{ readonly data_keys: number }>
          title="Wrap every key anew"
          submit="Wrap anew"
          send={() => act('/keys/rewrap')}
          result={({ data_keys }) => (
            <p>{count(data_keys)} data keys are wrapped under the current key-encryption key.</p>
          )}
          close={close}
        >
          <p>
            Data keys are wrapped under the current key-encryption key, after that was renewed. Cards are not
            touched, and payments go on meanwhile.
          </p>
        </FormDialog>
      )}
    />
  );
}
