// The figures of one or several processes as one text for Prometheus.
import { type Metric as PromMetric, Registry } from 'prom-client';
import { type Buckets, type Figures, METRICS, type Metric, type MetricKey, type Series } from './metrics.js';

export const CONTENT_TYPE = Registry.PROMETHEUS_CONTENT_TYPE;

const KEYS = Object.keys(METRICS) as MetricKey[];

/** One text. What no process speaks of is not in it. */
export function exposition(figures: readonly Figures[]): Promise<string> {
  const together = merged(figures);
  const registry = new Registry();
  for (const key of KEYS) {
    const series = together[key];
    if (series === undefined || series.length === 0) continue;
    const { name, help, kind } = METRICS[key];
    const metric = { name, help, type: kind, values: series.flatMap((each) => valuesOf(METRICS[key], each)) };
    // All that a registry asks of a metric. Its own would have to be told of every value when it happens, which costs a payment several
    // times as much as to count it here.
    registry.registerMetric({ name, get: async () => metric } as unknown as PromMetric);
  }
  return registry.metrics();
}

/** As if they were those of one process. */
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

/** What stays true of a process that has ended: what it has counted. */
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

interface Value {
  readonly metricName?: string;
  readonly labels: Readonly<Record<string, string | number>>;
  /** Those that the values of a histogram have in common: written out once for all of them. */
  readonly sharedLabels?: Readonly<Record<string, string>>;
  readonly value: number;
}

function valuesOf({ name, labels: names }: Metric, [values, figure]: Series): Value[] {
  const labels = Object.fromEntries(names.map((label, place) => [label, values[place] ?? '']));
  if (typeof figure === 'number') return [{ labels, value: figure }];
  let count = 0;
  const buckets = figure.counts.map((counted, place): Value => {
    count += counted;
    const le = figure.bounds[place] ?? '+Inf';
    return { metricName: `${name}_bucket`, labels: { le }, sharedLabels: labels, value: count };
  });
  return [
    ...buckets,
    { metricName: `${name}_sum`, labels: {}, sharedLabels: labels, value: figure.sum },
    { metricName: `${name}_count`, labels: {}, sharedLabels: labels, value: count },
  ];
}
