// Views saved in this browser: a name for an address.
import { Button, Menu } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { useLocation } from 'wouter';
import { FormDialog } from '../forms/form-dialog.js';

const KEY = 'tollgate-views';

interface View {
  readonly name: string;
  readonly search: string;
}

function stored(): readonly View[] {
  try {
    const views: unknown = JSON.parse(localStorage.getItem(KEY) ?? '[]');
    return Array.isArray(views) ? (views as View[]) : [];
  } catch {
    return [];
  }
}

export function SavedViews({ search }: { readonly search: string }): ReactNode {
  const [, navigate] = useLocation();
  const [views, setViews] = useState(stored);
  const [isSaving, setSaving] = useState(false);
  const keep = (wanted: readonly View[]) => {
    localStorage.setItem(KEY, JSON.stringify(wanted));
    setViews(wanted);
  };
  const save = async ({ name }: Record<string, unknown>) =>
    keep([...views.filter((view) => view.name !== name), { name: String(name), search }]);
  return (
    <>
      <Menu position="bottom-end" withInitialFocusPlaceholder={false}>
        <Menu.Target>
          <Button variant="default">Views</Button>
        </Menu.Target>
        <Menu.Dropdown>
          {views.map((view) => (
            <Menu.Item key={view.name} onClick={() => navigate(`/transactions?${view.search}`)}>
              {view.name}
            </Menu.Item>
          ))}
          {views.length === 0 && <Menu.Label className="dim">None saved yet</Menu.Label>}
          <Menu.Divider />
          <Menu.Item onClick={() => setSaving(true)}>Save this view</Menu.Item>
          {views
            .filter((view) => view.search === search)
            .map((view) => (
              <Menu.Item key={view.name} onClick={() => keep(views.filter((other) => other !== view))}>
                Forget “{view.name}”
              </Menu.Item>
            ))}
        </Menu.Dropdown>
      </Menu>
      {isSaving && (
        <FormDialog
          title="Save this view"
          submit="Save"
          fields={[{ name: 'name', label: 'Name', required: true }]}
          send={save}
          close={() => setSaving(false)}
        >
          <p>It is kept in this browser. To share it, send the address of the page.</p>
        </FormDialog>
      )}
    </>
  );
}
