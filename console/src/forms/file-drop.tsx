// A place to drop a file, or to choose one.
import { Button } from '@mantine/core';
import { type DragEvent, type ReactNode, useRef, useState } from 'react';

export function FileDrop({
  label,
  take,
  isBusy,
}: {
  readonly label: string;
  take(file: File): void;
  readonly isBusy: boolean;
}): ReactNode {
  const [isOver, setOver] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    const file = event.dataTransfer.files[0];
    if (file !== undefined && !isBusy) take(file);
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the button does the same by keyboard
    <div
      className="drop"
      data-over={isOver}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
    >
      <p>{label}</p>
      <Button variant="default" loading={isBusy} onClick={() => input.current?.click()}>
        Choose a file
      </Button>
      <input
        ref={input}
        type="file"
        hidden
        aria-label={label}
        onChange={(event) => {
          const file = event.currentTarget.files?.[0];
          if (file !== undefined) take(file);
          event.currentTarget.value = '';
        }}
      />
    </div>
  );
}
