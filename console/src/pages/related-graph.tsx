// Related transactions as a small graph: each stands to the right of its target.
import type { ReactNode } from 'react';
import { Link } from 'wouter';
import type { TransactionAnswer } from '../../../src/console/interface.js';
import { money, spaced } from '../words.js';

type Related = TransactionAnswer['related'];

const WIDTH = 170;
const HEIGHT = 52;
const GAP_X = 60;
const GAP_Y = 14;

interface Placed {
  readonly node: Related['nodes'][number];
  readonly x: number;
  readonly y: number;
}

function place({ nodes, edges }: Related): readonly Placed[] {
  const targetOf = new Map(edges.map(({ from, to }) => [from, to]));
  const depthOf = (audit: number, seen = 0): number => {
    const target = targetOf.get(audit);
    return target === undefined || seen > nodes.length ? 0 : 1 + depthOf(target, seen + 1);
  };
  const used = new Map<number, number>();
  return nodes.map((node) => {
    const depth = depthOf(node.audit);
    const row = used.get(depth) ?? 0;
    used.set(depth, row + 1);
    return { node, x: depth * (WIDTH + GAP_X), y: row * (HEIGHT + GAP_Y) };
  });
}

export function RelatedGraph({
  related,
  organisation,
  here,
}: {
  readonly related: Related;
  readonly organisation: number;
  readonly here: number;
}): ReactNode {
  const placed = place(related);
  const at = new Map(placed.map((one) => [one.node.audit, one]));
  const width = Math.max(...placed.map(({ x }) => x)) + WIDTH + 4;
  const height = Math.max(...placed.map(({ y }) => y)) + HEIGHT + 4;
  return (
    <svg className="graph" viewBox={`-2 -2 ${width} ${height}`} width={width} height={height}>
      <title>Related transactions</title>
      {related.edges.map(({ from, to, kind }) => {
        const [one, other] = [at.get(to), at.get(from)];
        if (one === undefined || other === undefined) return null;
        const [x1, y1, y2] = [one.x + WIDTH, one.y + HEIGHT / 2, other.y + HEIGHT / 2];
        return <line key={`${from} ${kind}`} x1={x1} y1={y1} x2={other.x} y2={y2} />;
      })}
      {placed.map(({ node, x, y }) => (
        <Link key={node.audit} href={`/transactions/${organisation}/${node.audit}`}>
          <g transform={`translate(${x} ${y})`} data-here={node.audit === here}>
            <rect width={WIDTH} height={HEIGHT} rx={6} />
            <text x={10} y={21}>
              {spaced(node.transaction_type)} {node.audit}
            </text>
            <text x={10} y={39}>
              {money(node.amount_cents, node.currency)},{' '}
              {node.status === 'unknown' ? 'in doubt' : node.status}
            </text>
          </g>
        </Link>
      ))}
    </svg>
  );
}
