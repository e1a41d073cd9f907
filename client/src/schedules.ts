// Schedules: payments that happen by themselves on their day. A correlation ID makes one, however often it is asked for.
import type { Asking, CallOptions, MakingOptions } from './asking.js';
import { cursorIn, Pages } from './pages.js';
import type { Schedule, ScheduleChange, ScheduleList, ScheduleQuery, ScheduleRequest } from './wire.js';

export class Schedules {
  readonly #asking: Asking;

  constructor(asking: Asking) {
    this.#asking = asking;
  }

  /** Where the correlation ID has made one already, that one. */
  async create(body: ScheduleRequest, options: MakingOptions = {}): Promise<Schedule> {
    const making = { operation: 'schedules.create', path: '/schedules', body };
    return this.#asking.makeOnce(making, options, async (correlationId) => {
      const query = { merchant_id: body.merchant.id, correlation_id_lookup: correlationId };
      for await (const { id } of this.list(query, options)) return this.get(id, options);
      return undefined;
    });
  }

  /** With its last dates, and how many were paid, failed and skipped. */
  get(id: string, options: CallOptions = {}): Promise<Schedule> {
    return this.#asking.ask({ operation: 'schedules.get', path: addressOf(id) }, options);
  }

  /** The newest first. */
  list(query: ScheduleQuery = {}, options: CallOptions = {}): Pages<Schedule> {
    return new Pages(async (after) => {
      const onwards = { ...query, ...(after !== undefined && { after }) };
      const question = { operation: 'schedules.list', path: '/schedules', query: onwards };
      const { results, _links } = await this.#asking.ask<ScheduleList>(question, options);
      return { results, next: cursorIn(_links.next) };
    });
  }

  update(id: string, body: ScheduleChange, options: CallOptions = {}): Promise<Schedule> {
    return this.#asking.change(
      { operation: 'schedules.update', method: 'PATCH', path: addressOf(id), body },
      options,
    );
  }

  /** Nothing is begun or tried again until it is resumed. */
  pause(id: string, options: CallOptions = {}): Promise<Schedule> {
    return this.#turn(id, 'pause', 'paused', options);
  }

  /** What has passed meanwhile is skipped. */
  resume(id: string, options: CallOptions = {}): Promise<Schedule> {
    return this.#turn(id, 'resume', 'active', options);
  }

  /** Throws `Refused` with `schedule_not_open` if it has ended. */
  cancel(id: string, options: CallOptions = {}): Promise<Schedule> {
    return this.#turn(id, 'cancel', 'cancelled', options);
  }

  /** One that is so already is what was asked for: the answer before may have been lost. */
  #turn(id: string, what: 'pause' | 'resume' | 'cancel', status: string, options: CallOptions) {
    return this.#asking.change<Schedule>(
      {
        operation: `schedules.${what}`,
        method: 'POST',
        path: `${addressOf(id)}/${what}`,
        settled: async (refusal) => {
          if (!refusal.has('schedule_not_open')) return undefined;
          const found = await this.get(id, options);
          return found.status === status ? { result: found } : undefined;
        },
      },
      options,
    );
  }
}

function addressOf(id: string): string {
  return `/schedules/${encodeURIComponent(id)}`;
}
