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
  /** Not before one is chosen, for those who have to. */
  readonly isChosen: boolean;
  /** There is none that could be chosen. */
  readonly isNone: boolean;
  readonly chooser: ReactNode;
}

/** Whether a merchant is of the mode that is shown; undefined as long as that is not known. */
export function useIsOfMode(): ((merchant: number) => boolean) | undefined {
  const mode = useMode();
  const { data } = useRead('GET /merchants');
  if (data === undefined) return undefined;
  const own = new Set(data.filter((merchant) => merchant.mode === mode).map(({ id }) => id));
  return (merchant) => own.has(merchant);
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
  const isChosen = mayLeaveOut || merchant !== undefined;
  return { merchant, isChosen, isNone: !isChosen && merchants.data !== undefined, chooser };
}
