// A QR code for a phone's camera.
import { type ReactNode, useMemo } from 'react';
import { encode } from 'uqr';

const PIXELS = 4;
/** The light frame that cameras want, also on a dark page. */
const QUIET = 4;

export function QrCode({
  text,
  title,
}: {
  readonly text: string;
  /** What it holds, for those who do not see it. */
  readonly title: string;
}): ReactNode {
  const { data, size } = useMemo(() => encode(text, { border: QUIET }), [text]);
  const path = data
    .flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])))
    .join('');
  return (
    <svg
      role="img"
      viewBox={`0 0 ${size} ${size}`}
      width={size * PIXELS}
      height={size * PIXELS}
      shapeRendering="crispEdges"
    >
      <title>{title}</title>
      <rect width={size} height={size} fill="#fff" />
      <path d={path} fill="#000" />
    </svg>
  );
}
