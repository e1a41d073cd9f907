// A field of a form: what it is called, how it is filled in, and what of it is sent.
import { Checkbox, NativeSelect, PasswordInput, Textarea, TextInput } from '@mantine/core';
import type { ReactNode } from 'react';
import { DayInput } from './day-input.js';

export interface Field {
  /** As the interface calls it. */
  readonly name: string;
  readonly label: string;
  readonly kind?: 'text' | 'secret' | 'lines' | 'number' | 'date' | 'choice' | 'flag' | 'list';
  readonly required?: boolean;
  readonly description?: string;
  readonly choices?: readonly (string | { readonly value: string; readonly label: string })[];
  readonly initial?: string | boolean | number | null | undefined;
  readonly placeholder?: string;
}

export type Filled = Readonly<Record<string, string | boolean>>;

export function initialOf(fields: readonly Field[]): Filled {
  return Object.fromEntries(
    fields.map(({ name, kind, initial, choices, required }) => {
      if (kind === 'flag') return [name, initial === true];
      const first = kind === 'choice' && required === true ? choices?.[0] : undefined;
      const fallback = typeof first === 'object' ? first.value : (first ?? '');
      return [name, initial === undefined || initial === null ? fallback : String(initial)];
    }),
  );
}

/** What is left empty is not sent. */
export function bodyOf(fields: readonly Field[], filled: Filled): Record<string, unknown> {
  const sent = fields.flatMap(({ name, kind }): [string, unknown][] => {
    const value = filled[name];
    if (kind === 'flag') return [[name, value === true]];
    const text = String(value ?? '').trim();
    if (text === '') return [];
    if (kind === 'number') return [[name, Number(text)]];
    if (kind === 'list') return [[name, text.split(/[\s,]+/).filter((part) => part !== '')]];
    return [[name, text]];
  });
  return Object.fromEntries(sent);
}

export function FieldInput({
  field,
  value,
  error,
  set,
}: {
  readonly field: Field;
  readonly value: string | boolean;
  readonly error: string | undefined;
  set(value: string | boolean): void;
}): ReactNode {
  const { name, label, kind = 'text', required = false, description, placeholder, choices = [] } = field;
  const common = { label, description, placeholder, error, name, required, value: String(value) };
  if (kind === 'flag')
    return (
      <Checkbox
        label={label}
        description={description}
        error={error}
        checked={value === true}
        onChange={(event) => set(event.currentTarget.checked)}
      />
    );
  if (kind === 'choice')
    return (
      <NativeSelect
        {...common}
        data={required ? [...choices] : [{ value: '', label: '–' }, ...choices]}
        onChange={(event) => set(event.currentTarget.value)}
      />
    );
  if (kind === 'lines')
    return <Textarea {...common} rows={5} onChange={(event) => set(event.currentTarget.value)} />;
  if (kind === 'secret')
    return (
      <PasswordInput
        {...common}
        autoComplete="off"
        onChange={(event) => set(event.currentTarget.value)}
        visibilityToggleButtonProps={{ 'aria-label': `Show ${label}` }}
      />
    );
  if (kind === 'date') return <DayInput {...common} choose={set} />;
  return (
    <TextInput
      {...common}
      type={kind === 'number' ? 'number' : 'text'}
      autoComplete="off"
      onChange={(event) => set(event.currentTarget.value)}
    />
  );
}
