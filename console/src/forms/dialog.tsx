// A dialogue. Mantine's own has a header that would be a second banner of the page.
import { Group, Modal } from '@mantine/core';
import type { ReactNode } from 'react';

export function Dialog({
  title,
  close,
  above = false,
  children,
}: {
  readonly title: string;
  close(): void;
  /** Above another dialogue. */
  readonly above?: boolean;
  readonly children: ReactNode;
}): ReactNode {
  return (
    <Modal.Root
      opened
      onClose={close}
      lockScroll={false}
      closeOnClickOutside={false}
      {...(above && { zIndex: 500 })}
    >
      <Modal.Overlay />
      <Modal.Content>
        <Modal.Body pt="md">
          <Group justify="space-between" wrap="nowrap" mb="sm">
            <Modal.Title fw={600}>{title}</Modal.Title>
            <Modal.CloseButton aria-label="Close" />
          </Group>
          {children}
        </Modal.Body>
      </Modal.Content>
    </Modal.Root>
  );
}
