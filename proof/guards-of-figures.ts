// The guards of what operators see: that figures are true, few, and shown to nobody else, and that traces carry nothing secret.
import type { Guard } from './guard.js';

const METRICS = 'test/operators/metrics.test.ts';
const LISTENER = 'test/operators/operators-listener.test.ts';
const TRACES = 'test/operators/traces.test.ts';
const WORKERS = 'test/processes/workers.test.ts';
const OUTAGE = 'test/processes/database-outage.test.ts';

export const FIGURE_GUARDS: readonly Guard[] = [
  {
    name: 'metrics: an acquirer makes no new series with its response codes',
    file: 'src/transactions/transaction-figures.ts',
    find: 'return this.knownCodes.has(code) && this.#outcomes.length < MOST_KINDS ? code : OTHER_CODE;',
    replace: 'return code;',
    tests: [[METRICS, 'response codes that no table has']],
  },
  {
    name: 'metrics: a client makes no new series with its addresses',
    file: 'src/http/answers.ts',
    find: '(config?.figures ?? requests.nowhere)',
    replace: '(config?.figures ?? requests.of(raw.url ?? ""))',
    tests: [[METRICS, 'whatever a client sends']],
  },
  {
    name: 'metrics: not on the merchants’ port',
    file: 'src/http/pages.ts',
    find: "  app.get('/livez', ",
    replace: "  app.get('/metrics', (_request, reply) => reply.send('tollgate_up 1'));\n  app.get('/livez', ",
    tests: [[METRICS, 'the merchants’ port has no metrics']],
  },
  {
    name: 'metrics: outside loopback only for whoever has the token',
    file: 'src/operators/metrics-page.ts',
    find: 'token !== undefined && !isBearerOf(request, token)',
    replace: 'false',
    tests: [[LISTENER, '→ 401, and no figure']],
  },
  {
    name: 'metrics: outside loopback not without a token',
    file: 'src/gateway/watching-settings.ts',
    find: 'if (!isLoopback(host) && metricsToken === undefined)',
    replace: 'if (false)',
    tests: [[LISTENER, '→ refused']],
  },
  {
    name: 'operators’ listener: nobody reads it by a name of their own',
    file: 'src/operators/listener.ts',
    find: '!isLoopback(host) || isLoopback(name) || name === publicHost;',
    replace: "name !== '' || publicHost === '';",
    tests: [[METRICS, 'a page of somebody else’s']],
  },
  {
    name: 'metrics: what a worker has counted outlives it',
    slow: true,
    processes: true,
    file: 'src/gateway/workers.ts',
    find: '    figures.ended(worker);\n',
    replace: '',
    tests: [[WORKERS, 'one scrape has the figures of both workers']],
  },
  {
    name: 'metrics: what was read from a database that is away is not shown',
    slow: true,
    processes: true,
    file: 'src/gateway/stored-figures.ts',
    find: '      this.#figures = undefined;\n      const figures = await this.read();',
    replace:
      '      const before = this.#figures;\n      const figures = await this.read().catch(() => before as Figures);',
    tests: [[OUTAGE, 'the database is away']],
  },
  {
    name: 'traces: no card number comes into the log as a trace ID',
    file: 'src/api/trace-context.ts',
    find: 'if (DIGITS.test(traceId) || containsCardNumber(traceId)) return undefined;',
    replace: '',
    tests: [[TRACES, 'of digits alone']],
  },
  {
    name: 'traces: only requests whose client wants it are sent',
    file: 'src/api/trace-context.ts',
    find: 'wanted && isSampled',
    replace: 'wanted',
    tests: [[TRACES, 'one that is not sampled is none']],
  },
  {
    name: 'traces: a malformed header is ignored',
    file: 'src/api/trace-context.ts',
    find: "version === NO_VERSION || (version === '00' && more !== undefined)",
    replace: 'false',
    tests: [[TRACES, '→ taken']],
  },
  {
    name: 'traces: spans go over no network in clear',
    file: 'src/gateway/watching-settings.ts',
    find: "(protocol === 'http:' && isLoopback(hostname))",
    replace: "(protocol === 'http:' && hostname !== '')",
    tests: [[LISTENER, '→ refused']],
  },
];
