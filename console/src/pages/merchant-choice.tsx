// The choice of a merchant, for pages that are about one. It stands in the address.
import { NativeSelect } from '@mantine/core';
import type { ReactNode } from 'react';
import { useSearchParams } from 'wouter';
import { useRead } from '../api/queries.js';
import { useMode } from '../mode.js';
import { useSession } from '../session.js';

export interface ChosenMerchant {
  /** Undefined where there is none to choose, or not yet. */
  readonly merchant: number | undefined;
  readonly chooser: ReactNode;
}

/** `all`: those of the whole installation need not choose. */
export function useMerchantChoice(all?: 'all'): ChosenMerchant {
  const mayLeaveOut = useSession().organisation === null && all === 'all';
  const mode = useMode();
  const merchants = useRead('GET /merchants');
  const [search, setSearch] = useSearchParams();
  const own = (merchants.data ?? []).filter((merchant) => merchant.mode === mode);
  const named = Number(search.get('merchant'));
  const merchant = own.find(({ id }) => id === named)?.id ?? (mayLeaveOut ? undefined : own[0]?.id);
  const choose = (id: string) =>
    setSearch((before) => {
      const after = new URLSearchParams(before);
      after.set('merchant', id);
      return after;
    });
  const chooser = (
    <NativeSelect
      aria-label="Merchant"
      value={merchant ?? ''}
      data={[
        ...(mayLeaveOut ? [{ value: '', label: 'all merchants' }] : []),
        ...own.map(({ id, name }) => ({ value: String(id), label: `${name} (${id})` })),
      ]}
      onChange={(event) => choose(event.currentTarget.value)}
    />
  );
  return { merchant, chooser };
}
