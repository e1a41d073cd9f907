// Logs operators' links: their connections, their hosts' answers, and each message in a trace.
import type { Logger } from 'pino';
import type { ConfiguredParts } from '../../acquirers/configured.js';
import { reasonOf } from '../database/connection.js';

type Told = Pick<ConfiguredParts, 'onConnectionEvent' | 'onLineEvent' | 'onAlarm' | 'onUnmade' | 'onTrace'>;

export function linkLog(log: Logger): Told {
  return {
    onConnectionEvent: (link, news) => {
      const { connection } = news;
      if (news.kind === 'lost')
        log.error({ link, connection, reason: news.reason }, 'connection to acquirer lost; connecting again');
      else log.warn({ link, connection, attempts: news.attempts }, 'connection to acquirer back');
    },
    onLineEvent: (link, news) => {
      if (news.kind === 'down')
        log.error({ link, reason: news.reason }, 'acquirer link down, payments over it are not sent');
      else if (news.kind === 'unasked answers')
        log.warn({ link, count: news.count }, 'acquirer sent answers that nothing had asked for');
      else if (news.afterSeconds === undefined) log.info({ link }, 'acquirer link signed on');
      else log.warn({ link, seconds: news.afterSeconds }, 'acquirer link up again');
    },
    onAlarm: (link, alarm) => {
      if (alarm.kind === 'duplicate STAN') {
        const { stan, terminal } = alarm;
        log.error({ link, stan, terminal }, 'acquirer has seen this STAN before');
        return;
      }
      if (alarm.kind === 'unexplained approvals') {
        const { count } = alarm;
        log.warn({ link, count }, 'acquirer sent approvals that nothing was waiting for');
        return;
      }
      const { reference, responseCode: response_code } = alarm;
      if (alarm.kind === 'reversal refused')
        log.error({ link, reference, response_code }, 'acquirer refuses a reversal; it is repeated');
      else
        log.error(
          { link, reference, response_code },
          'acquirer does not decide a completion; it is repeated',
        );
    },
    onUnmade: (link, reason) =>
      log.error({ link, reason: reasonOf(reason) }, 'acquirer link cannot be made; tried again'),
    onTrace: log.isLevelEnabled('debug')
      ? (link, { direction, type, stan, terminal, responseCode: response_code }) =>
          log.debug({ link, direction, type, stan, terminal, response_code }, 'acquirer message')
      : undefined,
  };
}
