// What needs a second person in this installation: shown, and changed by administrators.
import { Alert } from '@mantine/core';
import type { ReactNode } from 'react';
import type { Answer } from '../../../src/console/interface.js';
import { useAct } from '../acting.js';
import { Problem } from '../api/problem.js';
import { useRead } from '../api/queries.js';
import { DialogButton } from '../forms/dialogs.js';
import { FormDialog } from '../forms/form-dialog.js';
import { Section } from '../shell/page.js';
import { Shown } from '../states.js';
import { amountText, centsIn, money } from '../words.js';
import { Facts } from './facts.js';

type Rules = Answer<'GET /approval-rules'>;
type Kind = Rules['kinds'][number];

const KINDS: Readonly<Record<Kind, string>> = {
  links: 'Live links, routes of live merchants',
  exports: 'Exports of live merchants’ vaults',
  keys: 'Destroying live merchants’ keys, sealing rows as they are',
  administrators: 'New administrators, and their rights',
};
const NAMES = Object.keys(KINDS) as Kind[];

export function ApprovalRules(): ReactNode {
  const query = useRead('GET /approval-rules');
  return (
    <Section title="What needs a second person">
      <Shown query={query}>{(rules) => <TheRules rules={rules} />}</Shown>
    </Section>
  );
}

function TheRules({ rules }: { readonly rules: Rules }): ReactNode {
  const act = useAct();
  return (
    <>
      {!rules.sealed && (
        <Alert
          variant="outline"
          color="red"
          role="alert"
          title="Somebody has changed these rules in the database."
        >
          Until they are set again, everything needs a second person.
        </Alert>
      )}
      <Facts
        facts={{
          'Voids, refunds and completions': inWords(rules.above),
          ...Object.fromEntries(
            NAMES.map((kind) => [KINDS[kind], rules.kinds.includes(kind) ? 'always' : 'never']),
          ),
          'Loosening these rules': 'always',
        }}
      />
      <p>
        <DialogButton
          task="approval require"
          label="Change"
          dialog={(close) => (
            <FormDialog
              title="What needs a second person"
              submit="Change"
              fields={[
                {
                  name: 'above',
                  label: 'Voids, refunds and completions above',
                  description: 'Such as AUD 1000.00, USD 500.00. Empty: these need nobody else.',
                  initial: rules.above
                    .map(({ currency, cents }) => `${currency} ${amountText(cents, currency)}`)
                    .join(', '),
                },
                ...NAMES.map(
                  (kind) =>
                    ({
                      name: kind,
                      label: KINDS[kind],
                      kind: 'flag',
                      initial: rules.kinds.includes(kind),
                    }) as const,
                ),
              ]}
              send={async ({ above = '', ...chosen }) =>
                act('/approval-rules', {
                  above: limitsIn(String(above)),
                  kinds: NAMES.filter((kind) => chosen[kind] === true),
                })
              }
              close={close}
            >
              <p>
                As soon as one currency has a limit, any amount of another currency needs a second person.
                Loosening these rules needs one, too.
              </p>
            </FormDialog>
          )}
        />
      </p>
    </>
  );
}

function inWords(above: Rules['above']): string {
  if (above.length === 0) return 'never';
  const limits = above.map(({ currency, cents }) => `above ${money(cents, currency)}`);
  return [...limits, 'in any other currency always'].join(', ');
}

function limitsIn(text: string): { readonly currency: string; readonly cents: number }[] {
  const parts = text.split(',').map((part) => part.trim());
  return parts.filter((part) => part !== '').map(limitIn);
}

function limitIn(part: string): { readonly currency: string; readonly cents: number } {
  const [, currency = '', amount = ''] = /^([A-Z]{3})\s*([0-9.]+)$/.exec(part) ?? [];
  const cents = centsIn(amount, currency);
  if (cents === undefined)
    throw new Problem(422, 'field_format', 'Write a currency and an amount, such as AUD 1000.00.', 'above');
  return { currency, cents };
}
