// The schedules of a gateway: their table, and how this process pays what is due.
import { ScheduleRunner } from '../schedules/schedule-runner.js';
import { Schedules } from '../schedules/schedules.js';
import { Histogram } from '../values/histogram.js';
import type { ClosingStack } from './closing-stack.js';
import { Loop } from './loop.js';
import type { Pipeline, PipelineParts } from './pipeline.js';

type Parts = PipelineParts & { readonly pipeline: Pipeline };

const LOOK_EVERY_MS = 2_000;
/** Beyond the acquirer's own time. */
const FURTHER_LEASE_MS = 5_000;

/** Kept in fields, and read on demand. */
export interface ScheduleFigures {
  /** Dates by their outcome. */
  readonly dates: ReadonlyMap<string, number>;
  readonly late: Histogram;
}

export interface OpenSchedules {
  readonly schedules: Schedules;
  readonly scheduleFigures: ScheduleFigures;
}

/** In seconds. */
const LATE = [1, 10, 60, 300, 1_800, 3_600, 14_400, 86_400, 604_800];

export function openSchedules(parts: Parts, stack: ClosingStack): OpenSchedules {
  const { settings, databases, registration, pipeline, seals, watch } = parts;
  const onError = (error: unknown) => watch.jobFailed('schedules', error);
  const schedules = new Schedules(databases.vault);
  const dates = new Map<string, number>();
  const late = new Histogram(LATE);
  const runner = new ScheduleRunner({
    database: databases.vault,
    looks: databases.looks,
    schedules,
    creation: pipeline.creation,
    lookup: pipeline.lookup,
    searchFence: registration.searchFence,
    clock: registration.clock,
    leaseMs: settings.acquirerDeadlineMs + FURTHER_LEASE_MS,
    isLost: () => registration.registry.lost !== undefined,
    onDecided: (outcome, lateMs) => {
      dates.set(outcome, (dates.get(outcome) ?? 0) + 1);
      late.observe(lateMs / 1_000);
    },
    onBroken: (subject) => seals.report(subject, 'changed'),
    onError,
  });
  const looking = new Loop(() => runner.run(), LOOK_EVERY_MS, onError);
  stack.opened(looking.start(), async (loop) => {
    const finished = runner.finish();
    await loop.stop();
    await finished;
  });
  return { schedules, scheduleFigures: { dates, late } };
}
