// The day as a chart: approved and declined by minute or hour, against the same day of the week before. The same numbers stand below as a
// table, for those who do not see it.
import { useComputedColorScheme } from '@mantine/core';
import { type ReactNode, useEffect, useRef } from 'react';
import uPlot from 'uplot';
import type { TodayAnswer } from '../../../src/console/interface.js';
import { clock } from '../words.js';

export type DaySeries = NonNullable<TodayAnswer['hours']['day']>;

const HEIGHT_PX = 240;

export interface DayChartProps {
  readonly day: DaySeries;
  readonly before: DaySeries | null;
  /** The step that was clicked. */
  open(fromMs: number, untilMs: number): void;
}

export function DayChart({ day, before, open }: DayChartProps): ReactNode {
  const place = useRef<HTMLDivElement>(null);
  const scheme = useComputedColorScheme('light', { getInitialValueInEffect: false });
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    const chart = draw(element, { day, before, open }, scheme === 'dark');
    const observer = new ResizeObserver(() =>
      chart.setSize({ width: element.clientWidth, height: HEIGHT_PX }),
    );
    observer.observe(element);
    return () => {
      observer.disconnect();
      chart.destroy();
    };
  }, [day, before, scheme, open]);
  return (
    <div
      className="chart"
      ref={place}
      role="img"
      aria-label="Approved and declined over the day, against the week before. The table below has the numbers."
    />
  );
}

function timeOf(seconds: number): string {
  return clock(seconds * 1_000).slice(0, 5);
}

function draw(element: HTMLElement, { day, before, open }: DayChartProps, isDark: boolean): uPlot {
  const start = Date.parse(day.from) / 1_000;
  const steps = Math.max(day.approved.length, before?.approved.length ?? 0, 86_400 / day.step_seconds);
  const times = Array.from({ length: steps }, (_, index) => start + index * day.step_seconds);
  const filled = (numbers: readonly number[] | undefined) =>
    times.map((_, index) => numbers?.[index] ?? null);
  const text = isDark ? '#c9c9c9' : '#343a40';
  const grid = { stroke: isDark ? '#3b3b3b' : '#e9ecef', width: 1 };
  const axis = { stroke: text, grid, ticks: grid, font: '12px sans-serif' };
  const options: uPlot.Options = {
    width: element.clientWidth,
    height: HEIGHT_PX,
    legend: { live: true },
    axes: [
      { ...axis, values: (_, splits) => splits.map(timeOf) },
      { ...axis, size: 46 },
    ],
    series: [
      { label: 'Time', value: (_, at) => (at === null ? '–' : timeOf(at)) },
      { label: 'Approved', stroke: isDark ? '#8ce99a' : '#2b8a3e', width: 2 },
      { label: 'Declined', stroke: isDark ? '#ffa8a8' : '#c92a2a', width: 2 },
      { label: 'Approved a week before', stroke: isDark ? '#909296' : '#868e96', width: 1, dash: [5, 4] },
    ],
  };
  const data: uPlot.AlignedData = [
    times,
    filled(day.approved),
    filled(day.declined),
    filled(before?.approved),
  ];
  const chart = new uPlot(options, data, element);
  chart.over.addEventListener('click', () => {
    const from = times[chart.cursor.idx ?? -1];
    if (from !== undefined) open(from * 1_000, (from + day.step_seconds) * 1_000);
  });
  return chart;
}
