// The tables in docs/logs.md list the lines of the log: their messages, levels and fields.
import { pino } from 'pino';
import { parseAst } from 'rolldown/parseAst';
import { expect, test } from 'vitest';
import { UNSAFE_STANDBYS } from '../../src/gateway/database/connection.js';
import { type LoggedRequest, RequestLog } from '../../src/http/answers.js';
import { filesUnder, read } from '../../testkit/project-files.js';

const PAGE = read('docs/logs.md');
const LEVELS = ['debug', 'info', 'warn', 'error', 'fatal'];
/** What every line has. */
const ALWAYS = ['time', 'level'];
const STEP = 'Bring the table of log lines in docs/logs.md and the code into step.';

interface Line {
  readonly msg: string;
  readonly level: string;
  readonly fields: readonly string[];
}

/** Of a syntax tree: what is looked at here. */
interface Node {
  readonly type?: string;
  readonly [member: string]: unknown;
}

function nodesIn(node: unknown): Node[] {
  if (typeof node !== 'object' || node === null) return [];
  return [node as Node, ...Object.values(node).flatMap(nodesIn)];
}

const nameOf = (node: unknown) => {
  const { name, value } = node as Node;
  return String(name ?? value);
};

/** The members of an object, also those that it has only sometimes. */
function membersOf(object: unknown): Node[] {
  return (object as { properties: Node[] }).properties.flatMap((member) =>
    member.type === 'SpreadElement'
      ? nodesIn(member.argument)
          .filter(({ type }) => type === 'ObjectExpression')
          .flatMap(membersOf)
      : [member],
  );
}

const namesIn = (object: unknown) => membersOf(object).map(({ key }) => nameOf(key));

/** `log.warn({ … }, 'message')`, or `this.log.warn('message')`. */
function logged({ type, callee, arguments: given }: Node): Line[] {
  if (type !== 'CallExpression' || (callee as Node).type !== 'MemberExpression') return [];
  const { object, property } = callee as Node;
  const level = nameOf(property);
  if (nameOf((object as Node).property ?? object) !== 'log' || !LEVELS.includes(level)) return [];
  const [message, fields] = [...(given as Node[])].reverse();
  const msg = message?.type === 'Literal' ? String(message.value) : `(${nameOf(message)})`;
  return [{ msg, level, fields: fields === undefined ? [] : namesIn(fields) }];
}

/** `{ level: 'warn', …, msg: 'message' }`, of a line that does not go through the logger. */
function written(node: Node): Line[] {
  if (node.type !== 'ObjectExpression') return [];
  const values = Object.fromEntries(membersOf(node).map(({ key, value }) => [nameOf(key), value as Node]));
  if (values.msg?.type !== 'Literal') return [];
  const fields = namesIn(node).filter((name) => name !== 'msg' && !ALWAYS.includes(name));
  return [{ msg: nameOf(values.msg), level: nameOf(values.level), fields }];
}

const LINES: readonly Line[] = filesUnder('src')
  .filter((path) => path.endsWith('.ts'))
  .flatMap((path) => nodesIn(parseAst(read(path), { lang: 'ts' })))
  .flatMap((node) => [...logged(node), ...written(node)])
  // The one message that another file makes.
  .map((line) => (line.msg === '(warning)' ? { ...line, msg: UNSAFE_STANDBYS } : line));

const quoted = (cell: string) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name as string);

test('docs/logs.md lists every message with its level and fields, and no other', () => {
  const rows = PAGE.matchAll(/^\| `([^`]+)` \| (debug|info|warn|error) \| (.*?) \| .+ \|$/gm);
  const documented = [...rows].map(([, msg = '', level = '', fields = '']) => ({
    msg,
    level,
    fields: quoted(fields),
  }));
  const inWords = ({ msg, level, fields }: Line) => `${msg}, ${level}: ${[...fields].sort().join(', ')}`;
  expect(documented.map(inWords).sort(), STEP).toEqual(LINES.map(inWords).sort());
});

/** With everything that the line of a request can have. */
function wholeRequestLine(): string {
  let written = '';
  const log = pino(
    {
      level: 'info',
    },
    {
      write: (line: string) => {
        written += line;
      },
    },
  );
  const whole: Required<LoggedRequest> = {
    method: 'POST',
    route: '/v1/transactions/purchase',
    status: 201,
    address: '127.0.0.1',
    correlationId: 'order-1',
    traceId: '0af7651916cd43dd8448eb211c80319c',
    user: 'owner',
    merchantId: 1,
    audit: 1,
    outcome: 'approved',
    durationMs: 1,
  };
  new RequestLog(log).note(whole);
  return written;
}

test('docs/logs.md lists every field of a request’s line, and no other', () => {
  const [, table] = /`msg` `request`:\n\n([\s\S]*?)\n\n/.exec(PAGE) ?? [];
  const documented = [...(table ?? '').matchAll(/^\| (`.*?) \|/gm)].flatMap(([, cell]) => quoted(cell ?? ''));
  const { msg, level, ...others } = JSON.parse(wholeRequestLine());
  expect([msg, level]).toEqual(['request', 'info']);
  const fields = new Set([...ALWAYS, ...Object.keys(others)]);
  expect(new Set(documented), STEP).toEqual(fields);
});

test('docs/logs.md lists the background jobs', () => {
  const code = filesUnder('src/gateway').map(read).join('');
  const jobs = [...code.matchAll(/(?:\bfailed|[jJ]obFailed)\('([^']+)'/g)].map(([, job]) => job as string);
  const [, meaning] = /^\| `background job failed` .* \| (.*) \|$/m.exec(PAGE) ?? [];
  expect(quoted(meaning ?? '').sort(), STEP).toEqual(['job', ...jobs].sort());
});
