// The metrics of one or several processes as one text for Prometheus. Each part of the gateway counts for itself: prom-client would have
// to be called for every value, which costs a payment several times as much.
import { type Buckets, type Figures, METRICS, type Metric, type MetricKey, type Series } from './metrics.js';

export const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

const KEYS = Object.keys(METRICS) as MetricKey[];

/** One text. Metrics that no process reports are left out. */
export function exposition(figures: readonly Figures[]): string {
  const together = merged(figures);
  const texts = KEYS.flatMap((key) => {
    const series = together[key] ?? [];
    return series.length === 0 ? [] : [textOf(METRICS[key], series)];
  });
  return `${texts.join('\n\n')}\n`;
}

/** Merges them as if they were of one process. */
export function merged(figures: readonly Figures[]): Figures {
  if (figures.length === 1) return figures[0] as Figures;
  const together: { [Key in MetricKey]?: Series[] } = {};
  for (const key of KEYS) {
    const byLabels = new Map<string, Series>();
    for (const [labels, value] of figures.flatMap((each) => each[key] ?? [])) {
      const name = labels.join('\n');
      const before = byLabels.get(name);
      byLabels.set(name, [labels, before === undefined ? value : both(METRICS[key], before[1], value)]);
    }
    if (byLabels.size > 0) together[key] = [...byLabels.values()];
  }
  return together;
}

/** What remains valid of a process that has ended: its counters. */
export function lasting(figures: Figures): Figures {
  return Object.fromEntries(
    KEYS.filter((key) => METRICS[key].kind !== 'gauge' && figures[key] !== undefined).map((key) => [
      key,
      figures[key],
    ]),
  );
}

function both({ across }: Metric, one: Series[1], other: Series[1]): Series[1] {
  if (typeof one === 'number' && typeof other === 'number')
    return across === 'sum' ? one + other : Math[across](one, other);
  const [{ bounds, counts, sum }, added] = [one as Buckets, other as Buckets];
  return {
    bounds,
    counts: counts.map((count, place) => count + (added.counts[place] ?? 0)),
    sum: sum + added.sum,
  };
}

function textOf(metric: Metric, series: readonly Series[]): string {
  const { name, help, kind } = metric;
  const lines = series.flatMap((each) => linesOf(metric, each));
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${kind}`, ...lines].join('\n');
}

function linesOf({ name, labels: names }: Metric, [values, figure]: Series): string[] {
  const labels = names.map((label, place) => `${label}="${escaped(values[place] ?? '')}"`);
  const line = (ending: string, value: number, ...others: readonly string[]) => {
    const all = [...others, ...labels].join(',');
    return `${name}${ending}${all === '' ? '' : `{${all}}`} ${value}`;
  };
  if (typeof figure === 'number') return [line('', figure)];
  let count = 0;
  const buckets = figure.counts.map((counted, place) => {
    count += counted;
    return line('_bucket', count, `le="${figure.bounds[place] ?? '+Inf'}"`);
  });
  return [...buckets, line('_sum', figure.sum), line('_count', count)];
}

function escaped(label: string): string {
  return label.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"');
}
