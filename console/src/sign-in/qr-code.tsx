// A QR code for a phone's camera.
import { type ReactNode, useMemo } from 'react';
import { encode } from 'uqr';

const PIXELS = 4;

export function QrCode({ text }: { readonly text: string }): ReactNode {
  const { data, size } = useMemo(() => encode(text), [text]);
  const path = data
    .flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])))
    .join('');
  return (
    <svg
      viewBox={`0 0 ${size} ${size}`}
      width={size * PIXELS}
      height={size * PIXELS}
      shapeRendering="crispEdges"
    >
      <title>The secret below, for the camera</title>
      <rect width={size} height={size} fill="#fff" />
      <path d={path} fill="#000" />
    </svg>
  );
}
