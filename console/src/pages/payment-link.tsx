// The link by which a payer pays: to be copied, or scanned by a phone.
import { Button, Group } from '@mantine/core';
import type { ReactNode } from 'react';
import { useNotify } from '../notices.js';
import { QrCode } from '../qr-code.js';

export function PaymentLink({ url }: { readonly url: string }): ReactNode {
  const notify = useNotify();
  const copy = () =>
    navigator.clipboard.writeText(url).then(
      () => notify('The link is copied.'),
      () => notify('The browser does not allow copying: select the link instead.'),
    );
  return (
    <div className="payment-link">
      <QrCode text={url} title="The link, for the camera of a phone" />
      <Group gap="xs">
        <code className="secret">{url}</code>
        <Button size="compact-sm" variant="default" onClick={() => void copy()}>
          Copy
        </Button>
      </Group>
    </div>
  );
}
