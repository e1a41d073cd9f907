// The filters of transactions. They are part of the address, so that a view can be shared and saved.
import { Button, NativeSelect, TextInput } from '@mantine/core';
import { type ReactNode, useEffect, useState } from 'react';
import { DayInput } from '../forms/day-input.js';
import { SearchBox } from '../lists/search-box.js';
import { isAmountText, spaced } from '../words.js';

/** What may stand in the address, in the words of the interface. */
export const FILTER_NAMES = [
  'q',
  'organisation',
  'merchant',
  'mode',
  'from',
  'until',
  'status',
  'transaction_type',
  'payment_method',
  'card_type',
  'last_four',
  'reference',
  'amount',
  'currency',
  'settlement_date',
  'acquirer',
  'response_code',
  'customer_id',
  'token_id',
  'target_audit',
  'checkout_id',
] as const;

export type FilterName = (typeof FILTER_NAMES)[number];
export type Filters = Readonly<Partial<Record<FilterName, string>>>;

export function filtersIn(search: URLSearchParams): Filters {
  return Object.fromEntries(
    FILTER_NAMES.flatMap((name) => {
      const value = search.get(name);
      return value === null || value === '' ? [] : [[name, value]];
    }),
  );
}

interface TextFilter {
  readonly name: FilterName;
  readonly label: string;
  readonly type?: 'date';
}

const CHOICES: readonly {
  name: FilterName;
  label: string;
  choices: readonly (string | { value: string; label: string })[];
}[] = [
  {
    name: 'status',
    label: 'Status',
    choices: ['approved', 'declined', { value: 'unknown', label: 'in doubt' }, 'pending', 'voided', 'error'],
  },
  {
    name: 'transaction_type',
    label: 'Type',
    choices: [
      'purchase',
      'preauth',
      'completion',
      'refund',
      { value: 'standalone_refund', label: 'standalone refund' },
      'void',
    ],
  },
  {
    name: 'payment_method',
    label: 'Paid by',
    choices: [
      { value: 'creditcard', label: 'card' },
      { value: 'bankaccount', label: 'bank account' },
    ],
  },
];

const MAIN: readonly TextFilter[] = [
  { name: 'from', label: 'From day', type: 'date' },
  { name: 'until', label: 'Until day', type: 'date' },
];

const FURTHER: readonly TextFilter[] = [
  { name: 'organisation', label: 'Organisation' },
  { name: 'merchant', label: 'Merchant' },
  { name: 'card_type', label: 'Card type' },
  { name: 'last_four', label: 'Last four' },
  { name: 'reference', label: 'Reference begins' },
  { name: 'amount', label: 'Amount' },
  { name: 'currency', label: 'Currency' },
  { name: 'settlement_date', label: 'Settles on', type: 'date' },
  { name: 'acquirer', label: 'Acquirer' },
  { name: 'response_code', label: 'Response code' },
  { name: 'customer_id', label: 'Customer' },
  { name: 'token_id', label: 'Token' },
  { name: 'target_audit', label: 'Of audit' },
  { name: 'checkout_id', label: 'Of checkout' },
];

export function TransactionFilters({
  filters,
  apply,
}: {
  readonly filters: Filters;
  apply(change: Filters): void;
}): ReactNode {
  const [isMore, setMore] = useState(() => FURTHER.some(({ name }) => filters[name] !== undefined));
  return (
    <>
      <SearchBox
        label="Search transactions"
        placeholder="Card’s last four, amount, day, customer, reference, audit: several at once, such as 0776 31.92 18 Nov"
        text={filters.q ?? ''}
        apply={(q) => apply({ q })}
      />
      <Chips filters={filters} apply={apply} />
      <div className="filters">
        {CHOICES.map(({ name, label, choices }) => (
          <NativeSelect
            key={name}
            label={label}
            value={filters[name] ?? ''}
            data={[{ value: '', label: 'any' }, ...choices]}
            onChange={(event) => apply({ [name]: event.currentTarget.value })}
          />
        ))}
        {MAIN.map((filter) => (
          <TextFilterInput key={filter.name} filter={filter} filters={filters} apply={apply} />
        ))}
        <Button variant="default" aria-expanded={isMore} onClick={() => setMore(!isMore)}>
          {isMore ? 'Fewer filters' : 'More filters'}
        </Button>
      </div>
      {isMore && (
        <div className="filters">
          {FURTHER.map((filter) => (
            <TextFilterInput key={filter.name} filter={filter} filters={filters} apply={apply} />
          ))}
        </div>
      )}
    </>
  );
}

/** What is filtered by, in words. The mode has its own place, and the text stands in its box. */
function chipsOf(filters: Filters): readonly { words: string; without: Filters }[] {
  const { from, until } = filters;
  const isOneDay = from !== undefined && from === until;
  const words: Partial<Record<FilterName, (value: string) => string | undefined>> = {
    from: (day) => (isOneDay ? `on ${day}` : `from ${shownDay(day)}`),
    until: (day) => (isOneDay ? undefined : `until ${shownDay(day)}`),
    organisation: (id) => `organisation ${id}`,
    merchant: (id) => `merchant ${id}`,
    last_four: (digits) => `card ends in ${digits}`,
    reference: (text) => `reference begins “${text}”`,
    settlement_date: (day) => `settles on ${day}`,
    acquirer: (name) => `by ${name}`,
    response_code: (code) => `response code ${code}`,
    customer_id: (id) => `customer ${id}`,
    token_id: (id) => `token ${id}`,
    target_audit: (audit) => `done to ${audit}`,
    checkout_id: (id) => `of checkout ${id}`,
  };
  return FILTER_NAMES.flatMap((name) => {
    const value = filters[name];
    if (value === undefined || name === 'mode' || name === 'q') return [];
    const said = (words[name] ?? labelOf(name))(value);
    const without = name === 'from' && isOneDay ? { from: '', until: '' } : { [name]: '' };
    return said === undefined ? [] : [{ words: said, without }];
  });
}

function labelOf(name: FilterName): (value: string) => string {
  const choices = CHOICES.find((choice) => choice.name === name)?.choices ?? [];
  return (value) => {
    const chosen = choices.find((choice) => typeof choice !== 'string' && choice.value === value);
    return chosen === undefined || typeof chosen === 'string' ? spaced(value) : chosen.label;
  };
}

/** Each filter that is active, and a way to be rid of it. */
function Chips({ filters, apply }: { readonly filters: Filters; apply(change: Filters): void }): ReactNode {
  const chips = chipsOf(filters);
  if (chips.length === 0) return null;
  return (
    <ul className="chips" aria-label="Filters">
      {chips.map(({ words, without }) => (
        <li key={words}>
          <Button
            size="compact-sm"
            variant="default"
            aria-label={`Without the filter: ${words}`}
            rightSection={<span aria-hidden="true">×</span>}
            onClick={() => apply(without)}
          >
            {words}
          </Button>
        </li>
      ))}
    </ul>
  );
}

/** An instant in the address is shown by its day. */
function shownDay(value: string): string {
  return value.slice(0, 10);
}

/** Of an instant in the address, the field for days shows its day. */
function shownIn({ type }: TextFilter, value: string): string {
  return type === 'date' ? shownDay(value) : value;
}

function TextFilterInput({
  filter,
  filters,
  apply,
}: {
  readonly filter: TextFilter;
  readonly filters: Filters;
  apply(change: Filters): void;
}): ReactNode {
  const { name, label, type } = filter;
  const now = shownIn(filter, filters[name] ?? '');
  const [typed, setTyped] = useState(now);
  useEffect(() => setTyped(now), [now]);
  const wrong = name === 'amount' && typed !== '' && !isAmountText(typed.trim());
  const done = (text: string) => {
    if (text === now || wrong) return;
    apply({ [name]: text.trim() });
  };
  if (type === 'date')
    return <DayInput label={label} value={now} choose={(day) => day !== now && apply({ [name]: day })} />;
  return (
    <TextInput
      label={label}
      value={typed}
      error={wrong ? 'such as 12.50' : undefined}
      onChange={({ currentTarget: { value } }) => setTyped(value)}
      onBlur={() => done(typed)}
      onKeyDown={(event) => event.key === 'Enter' && done(typed)}
    />
  );
}
