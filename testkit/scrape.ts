// Reads `/metrics` as Prometheus would, and finds figures in it by name and labels.

export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export class Scrape {
  constructor(
    readonly text: string,
    readonly samples: readonly Sample[],
  ) {}

  /** Of all series with these labels, added up; undefined where there is none. */
  sum(name: string, labels: Readonly<Record<string, string>> = {}): number | undefined {
    const found = this.samples.filter(
      (sample) =>
        sample.name === name &&
        Object.entries(labels).every(([label, value]) => sample.labels[label] === value),
    );
    return found.length === 0 ? undefined : found.reduce((sum, { value }) => sum + value, 0);
  }

  /** As the lines `# TYPE` have them. */
  get types(): ReadonlyMap<string, string> {
    return new Map(
      [...this.text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => [
        name as string,
        type as string,
      ]),
    );
  }
}

const LINE = /^([a-z_]+)(?:\{(.*)\})? (\S+)$/;

export function readScrape(text: string): Scrape {
  const samples = text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const [, name, labels = '', value] = LINE.exec(line) ?? [];
      if (name === undefined) throw new Error(`this is no line of a scrape: ${line}`);
      const pairs = [...labels.matchAll(/([a-z_]+)="([^"]*)"/g)].map(([, label, of]) => [label, of]);
      return { name, labels: Object.fromEntries(pairs), value: value === '+Inf' ? Infinity : Number(value) };
    });
  return new Scrape(text, samples);
}

/** `url`: of the operators' listener. */
export async function scrape(url: string, headers: Readonly<Record<string, string>> = {}): Promise<Scrape> {
  const response = await fetch(`${url}/metrics`, { headers });
  if (response.status !== 200) throw new Error(`/metrics answered ${response.status}`);
  return readScrape(await response.text());
}
