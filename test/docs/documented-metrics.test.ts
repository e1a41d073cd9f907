// The page docs/monitoring.md, the dashboard and the alert rules speak of the metrics that there are, and of all of them; every alert has its section.
import { describe, expect, test } from 'vitest';
import { METRICS } from '../../src/http/observability/metrics.js';
import { expectEach } from '../../testkit/each-case.js';
import { filesUnder, read } from '../../testkit/project-files.js';

const PAGE = read('docs/monitoring.md');
const DASHBOARD = read('deploy/grafana/tollgate.json');
const RULES = read('deploy/prometheus/alerts.yml');
const INHIBITIONS = read('deploy/prometheus/alertmanager.yml');
const HISTORIES = read('deploy/prometheus/alerts.test.yml');

const NAMES = Object.values(METRICS).map(({ name }) => name);
/** With the series of a histogram under its own name. */
const named = (text: string) =>
  [...text.matchAll(/\btollgate_[a-z_]+/g)].map(([name]) =>
    NAMES.includes(name) ? name : name.replace(/_(bucket|sum|count)$/, ''),
  );
const unknownIn = (text: string) => named(text).filter((name) => !NAMES.includes(name));

const alerts = RULES.split(/^ {6}- alert: /m)
  .slice(1)
  .map((text) => ({ name: text.split('\n')[0] as string, text }));

describe('metrics', () => {
  test('docs/monitoring.md lists every metric with its type and labels, and no other', () => {
    const rows = PAGE.matchAll(/^\| `(tollgate_\w+)` \| (\w+) \| (.*?) \| .+ \|$/gm);
    const documented = [...rows].map(([, name, kind, labels = '']) =>
      [name, kind, ...[...labels.matchAll(/`(\w+)`/g)].map(([, label]) => label)].join(' '),
    );
    const metrics = Object.values(METRICS).map(({ name, kind, labels }) => [name, kind, ...labels].join(' '));
    expect(documented.sort()).toEqual(metrics.sort());
    expect(unknownIn(PAGE)).toEqual([]);
  });

  test('the dashboard shows every metric, and no other', () => {
    expect(unknownIn(DASHBOARD)).toEqual([]);
    expect(NAMES.filter((name) => !named(DASHBOARD).includes(name))).toEqual([]);
  });

  test('every metric has a figure that the gateway gathers', () => {
    const code = filesUnder('src/gateway').map(read).join('\n');
    expect(Object.keys(METRICS).filter((key) => !new RegExp(`\\b${key}: `).test(code))).toEqual([]);
  });

  test('the alert rules and their histories use existing metrics only', () => {
    expect(named(RULES).length).toBeGreaterThan(20);
    expect([...unknownIn(RULES), ...unknownIn(HISTORIES)]).toEqual([]);
  });
});

describe('the dashboard', () => {
  interface Panel {
    readonly id: number;
    readonly type: string;
    readonly title: string;
    readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
    readonly targets?: readonly { readonly expr: string; readonly datasource: { readonly uid: string } }[];
  }
  const { panels } = JSON.parse(DASHBOARD) as { panels: readonly Panel[] };

  test('no two panels have the same number or overlap, and every panel queries the chosen source', () => {
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const places = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, place) => `${x + (place % w)}/${y + Math.floor(place / w)}`),
    );
    expect(new Set(places).size).toBe(places.length);
    const asking = panels.filter(({ type }) => type !== 'row');
    expect(asking.filter(({ targets = [] }) => targets.length === 0)).toEqual([]);
    const sources = asking.flatMap(({ targets = [] }) => targets.map(({ datasource }) => datasource.uid));
    expect(new Set(sources)).toEqual(new Set([`\${datasource}`]));
  });

  test('only gateways of the chosen job and instances are shown', () => {
    const expressions = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
    const unbounded = expressions.filter(
      (expr) =>
        (expr.match(/\btollgate_/g) ?? []).length !== (expr.match(/instance=~"\$instance"/g) ?? []).length,
    );
    expect(unbounded).toEqual([]);
  });
});

describe('alerts', () => {
  test('every alert has a section that says what it means and what to do, and there is no other section', () => {
    const [, section = ''] = /^## Alerts\n([\s\S]*?)^## /m.exec(PAGE) ?? [];
    const sections = section.split(/^### /m).slice(1);
    expect(sections.map((text) => text.split('\n')[0])).toEqual(
      expect.arrayContaining(alerts.map(({ name }) => name)),
    );
    expect(sections.length).toBe(alerts.length);
    for (const text of sections) expect(text.trim().split('\n\n').length, text).toBe(3);
  });

  test('inhibitions name existing alerts only; no two alerts inhibit each other', () => {
    const [, rules = ''] = /^inhibit_rules:\n([\s\S]*?)^\w/m.exec(INHIBITIONS) ?? [];
    const names = (text: string) =>
      [...text.matchAll(/Tollgate(?:\(([\w|]+)\)|(\w+))/g)].flatMap(([, several, one = '']) =>
        (several ?? one).split('|').map((name) => `Tollgate${name}`),
      );
    const holdsBack = rules
      .split(/^ {2}- source_matchers: /m)
      .slice(1)
      .flatMap((rule) => {
        const [sources = '', targets = ''] = rule.split('target_matchers:');
        return names(sources).flatMap((source) => names(targets).map((target) => ({ source, target })));
      });
    expect(holdsBack.length).toBeGreaterThan(20);
    const known = alerts.map(({ name }) => name);
    expect(holdsBack.flatMap(({ source, target }) => [source, target])).toSatisfy((all: string[]) =>
      all.every((name) => known.includes(name)),
    );
    const reached = (from: string, seen: readonly string[] = []): string[] =>
      holdsBack
        .filter(({ source, target }) => source === from && !seen.includes(target))
        .flatMap(({ target }) => [target, ...reached(target, [...seen, target])]);
    expect(known.filter((name) => reached(name).includes(name))).toEqual([]);
  });

  test('every alert links to its section, and has a severity and two histories', () =>
    expectEach(alerts, ({ name, text }) => {
      expect(text).toContain(`runbook: docs/monitoring.md#${name.toLowerCase()}\n`);
      expect(text).toMatch(/severity: (critical|warning) /);
      expect(HISTORIES.match(new RegExp(`alertname: ${name}\\b`, 'g'))?.length).toBe(2);
      expect(HISTORIES).toContain(`alertname: ${name}, exp_alerts: [] }`);
    }));
});
