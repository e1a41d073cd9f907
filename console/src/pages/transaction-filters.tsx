// The filters of transactions. They are part of the address, so that a view can be shared and saved.
import { Button, NativeSelect, TextInput } from '@mantine/core';
import { type ReactNode, useEffect, useState } from 'react';
import { DayInput } from '../forms/day-input.js';
import { SearchBox } from '../lists/search-box.js';
import { isAmountText } from '../words.js';

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
    choices: ['approved', 'declined', { value: 'unknown', label: 'in doubt' }, 'pending', 'error'],
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
        placeholder="Audit, correlation ID, reference, last four, amount, virtual PAN or customer"
        text={filters.q ?? ''}
        apply={(q) => apply({ q })}
      />
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

/** Of an instant in the address, the field for days shows its day. */
function shownIn({ type }: TextFilter, value: string): string {
  return type === 'date' ? value.slice(0, 10) : value;
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
