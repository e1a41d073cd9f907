// A field for a day, written the same way in every browser: 2026-11-16. Browsers' own fields follow the language of the machine, so that
// two operators would read the same day differently; their calendar is offered beside it.
import { ActionIcon, TextInput, type TextInputProps } from '@mantine/core';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import { isDay } from '../words.js';

interface Given extends Omit<TextInputProps, 'value' | 'onChange' | 'type'> {
  /** Empty: none. */
  readonly value: string;
  /** Called with a real day, or empty. */
  choose(day: string): void;
}

export function DayInput({ value, choose, error, ...input }: Given): ReactNode {
  const [typed, setTyped] = useState(value);
  const [isLeft, setLeft] = useState(false);
  const calendar = useRef<HTMLInputElement>(null);
  useEffect(() => setTyped(value), [value]);
  const isWrong = typed !== '' && !isDay(typed);
  const take = (text: string) => {
    setTyped(text);
    setLeft(false);
    if (text === '' || isDay(text)) choose(text);
  };
  return (
    <TextInput
      {...input}
      className="day"
      autoComplete="off"
      placeholder="yyyy-mm-dd"
      pattern="\d{4}-\d{2}-\d{2}"
      title="A day, such as 2026-11-16"
      value={typed}
      error={isWrong && isLeft ? 'such as 2026-11-16' : error}
      onChange={(event) => take(event.currentTarget.value.trim())}
      onBlur={() => setLeft(true)}
      rightSection={
        <>
          <ActionIcon
            variant="subtle"
            color="gray"
            aria-label={`Calendar: ${input['aria-label'] ?? input.label}`}
            onClick={() => calendar.current?.showPicker()}
          >
            <Calendar />
          </ActionIcon>
          <input
            ref={calendar}
            className="calendar"
            type="date"
            tabIndex={-1}
            aria-hidden="true"
            value={isDay(typed) ? typed : ''}
            onChange={(event) => take(event.currentTarget.value)}
          />
        </>
      }
    />
  );
}

function Calendar(): ReactNode {
  return (
    <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
      <path
        d="M2.5 3.5h11v10h-11zM2.5 6.5h11M5.5 1.5v3M10.5 1.5v3"
        fill="none"
        stroke="currentColor"
        strokeWidth="1.3"
      />
    </svg>
  );
}
