// A curve: how many purchases are stored, and what another one costs then, as a share of what it costs with none.

export interface Growth {
  readonly stored: number;
  /** Shares of what it is with none stored. */
  readonly processor: number;
  readonly database: number;
  readonly perSecond: number;
}

const WIDTH = 800;
const HEIGHT = 360;
const [LEFT, RIGHT, TOP, BOTTOM] = [64, 150, 56, 48];
const MOST = 1.5;
const SERIES = [
  { of: 'processor', label: 'processor time', colour: '#1f6f54' },
  { of: 'database', label: 'of PostgreSQL', colour: '#5b9a83' },
  { of: 'perSecond', label: 'purchases/s', colour: '#b0563b' },
] as const;

export function growthPlot(curve: readonly Growth[]): string {
  const powers = curve.map(({ stored }) => Math.log10(stored));
  const [first, last] = [Math.min(...powers), Math.max(...powers)];
  const x = (power: number) => LEFT + ((power - first) / Math.max(1, last - first)) * (WIDTH - LEFT - RIGHT);
  const y = (share: number) => HEIGHT - BOTTOM - (Math.min(share, MOST) / MOST) * (HEIGHT - TOP - BOTTOM);
  const grid = [0, 0.5, 1, 1.5].map(
    (
      share,
    ) => `  <line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${y(share)}" y2="${y(share)}" stroke="#d7dee3"/>
  <text x="${LEFT - 10}" y="${y(share) + 5}" text-anchor="end">${share}</text>`,
  );
  const marks = curve.map(
    ({ stored }, index) =>
      `  <text x="${x(powers[index] as number)}" y="${HEIGHT - BOTTOM + 24}" text-anchor="middle">${stored.toLocaleString('en')}</text>`,
  );
  const end = curve.at(-1);
  const lines = SERIES.map(({ of, label, colour }, place) => {
    const points = curve.map((one, index) => `${x(powers[index] as number)},${y(one[of])}`);
    return `  <polyline points="${points.join(' ')}" fill="none" stroke="${colour}" stroke-width="2.5"/>
  <text x="${WIDTH - RIGHT + 10}" y="${TOP + 18 * place + 4}" fill="${colour}">${label} ${end?.[of].toFixed(2)}</text>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="system-ui, sans-serif" font-size="14" fill="#22303a">
  <title>What a purchase costs by how many are stored, as a share of what it costs with none</title>
  <rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>
  <text x="16" y="28" font-size="16" font-weight="600">A purchase, by how many are stored (1: as with none)</text>
${[...grid, ...marks, ...lines].join('\n')}
</svg>
`;
}
