// A form in a dialogue: fields, a sentence on its effect, and afterwards the outcome. It is sent once, however often the button is pressed.
import { Alert, Button, Group, Stack } from '@mantine/core';
import { type FormEvent, type ReactNode, useRef, useState } from 'react';
import { Problem } from '../api/problem.js';
import { Failure } from '../states.js';
import { Dialog } from './dialog.js';
import { bodyOf, type Field, FieldInput, type Filled, initialOf } from './field.js';

export interface FormDialogProps<Answer> {
  readonly title: string;
  readonly fields?: readonly Field[];
  /** Of the button, such as `Add the merchant`. */
  readonly submit: string;
  readonly danger?: boolean;
  /** What it will do, in words. */
  readonly children?: ReactNode | ((filled: Filled) => ReactNode);
  readonly send: (body: Record<string, unknown>) => Promise<Answer>;
  /** What is shown afterwards; absent, or where it returns nothing, the dialogue closes. */
  readonly result?: (answer: Answer) => ReactNode;
  readonly close: () => void;
}

export function FormDialog<Answer>(props: FormDialogProps<Answer>): ReactNode {
  const { title, fields = [], submit, danger = false, children, send, result, close } = props;
  const [filled, setFilled] = useState(() => initialOf(fields));
  const [error, setError] = useState<unknown>();
  const [isSending, setSending] = useState(false);
  const [outcome, setOutcome] = useState<ReactNode>();
  const isSent = useRef(false);

  const onSubmit = async (event: FormEvent) => {
    event.preventDefault();
    // A second press comes before the button is seen to be off.
    if (isSent.current) return;
    isSent.current = true;
    setSending(true);
    setError(undefined);
    try {
      // Evaluated outside the optional call: inside, nothing would be sent if `result` is absent.
      const answer = await send(bodyOf(fields, filled));
      const shown = result?.(answer);
      if (shown === undefined || shown === null) close();
      else setOutcome(shown);
    } catch (refused) {
      isSent.current = false;
      setError(refused);
    } finally {
      setSending(false);
    }
  };

  const wrongField = error instanceof Problem ? error.field : undefined;
  const isAtField = fields.some(({ name }) => name === wrongField);
  return (
    <Dialog title={title} close={close}>
      {outcome !== undefined ? (
        <Stack>
          <Alert variant="outline" color="green" title="Done" role="status">
            {outcome}
          </Alert>
          <Group justify="flex-end">
            <Button onClick={close} data-autofocus>
              Close
            </Button>
          </Group>
        </Stack>
      ) : (
        <form onSubmit={(event) => void onSubmit(event)}>
          <Stack>
            {typeof children === 'function' ? children(filled) : children}
            {fields.map((field) => (
              <FieldInput
                key={field.name}
                field={field}
                value={filled[field.name] ?? ''}
                error={field.name === wrongField ? (error as Problem).message : undefined}
                set={(value) => setFilled((before) => ({ ...before, [field.name]: value }))}
              />
            ))}
            {error !== undefined && !isAtField && <Failure error={error} />}
            <Group justify="flex-end">
              <Button variant="default" onClick={close}>
                Cancel
              </Button>
              <Button type="submit" loading={isSending} {...(danger && { color: 'red' })}>
                {submit}
              </Button>
            </Group>
          </Stack>
        </form>
      )}
    </Dialog>
  );
}
