// The search box above a list. The search is part of the address, so going back restores it.
import { Button, TextInput } from '@mantine/core';
import { type FormEvent, type ReactNode, useEffect, useState } from 'react';

interface Given {
  /** Of the box, for those who do not see it. */
  readonly label: string;
  readonly placeholder: string;
  /** What is searched for now. */
  readonly text: string;
  /** Empty: for nothing. */
  apply(q: string): void;
}

export function SearchBox({ label, placeholder, text, apply }: Given): ReactNode {
  const [typed, setTyped] = useState(text);
  useEffect(() => setTyped(text), [text]);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    apply(typed.trim());
  };
  return (
    <search>
      <form className="filters" onSubmit={submit}>
        <TextInput
          className="search"
          type="search"
          data-search
          aria-label={label}
          placeholder={placeholder}
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
        />
        <Button type="submit">Search</Button>
      </form>
    </search>
  );
}
