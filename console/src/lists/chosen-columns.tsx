// Which columns of a list are shown: as the operator chose in this browser.
import { Button, Menu } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import type { Column } from './column.js';

function stored(name: string): readonly string[] | undefined {
  try {
    const keys: unknown = JSON.parse(localStorage.getItem(`tollgate-columns-${name}`) ?? 'null');
    return Array.isArray(keys) ? keys.map(String) : undefined;
  } catch {
    return undefined;
  }
}

export function useChosenColumns<Row>(
  name: string,
  columns: readonly Column<Row>[],
): { readonly chosen: readonly Column<Row>[]; readonly chooser: ReactNode } {
  const [keys, setKeys] = useState(
    () => stored(name) ?? columns.filter(({ extra }) => extra !== true).map(({ key }) => key),
  );
  const choose = (key: string, isShown: boolean) => {
    const wanted = isShown ? [...keys, key] : keys.filter((other) => other !== key);
    if (wanted.length === 0) return;
    localStorage.setItem(`tollgate-columns-${name}`, JSON.stringify(wanted));
    setKeys(wanted);
  };
  const chooser = (
    <Menu closeOnItemClick={false} position="bottom-end" withInitialFocusPlaceholder={false}>
      <Menu.Target>
        <Button variant="default" size="sm">
          Columns
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {columns.map(({ key, title }) => (
          <Menu.CheckboxItem
            key={key}
            checked={keys.includes(key)}
            onChange={(isWanted) => choose(key, isWanted)}
          >
            {title}
          </Menu.CheckboxItem>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
  return { chosen: columns.filter(({ key }) => keys.includes(key)), chooser };
}
