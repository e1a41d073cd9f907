// What an operator is warned of: answers that mean that something is wrong (502, 503, 504), and failed log-ins. Each kind has one
// line a second, however many there are.
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { client, type Json } from '../../testkit/client.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { logLines } from '../../testkit/requests.js';

let gateway: TestGateway;
beforeAll(async () => {
  gateway = await testGateway();
});
afterAll(() => gateway.close());

const PATIENTLY = { timeout: 300_000 };
const WARNING = 40;

async function warningsWith(msg: string, members: Json = {}): Promise<Json[]> {
  return vi.waitUntil(() => {
    const found = logLines(gateway).filter(
      (line) => line.msg === msg && Object.entries(members).every(([name, value]) => line[name] === value),
    );
    return found.length > 0 && found;
  }, PATIENTLY);
}

const sum = (lines: readonly Json[]) => lines.reduce((total, { count }) => total + count, 0);

describe('failed responses', () => {
  test.each([
    [502, 'acquirer_answer_unreadable', '4200000000000059'],
    [504, 'acquirer_timeout', '4200000000000026'],
  ])(
    'many %i at once → counted, in far fewer lines, beginning with the first',
    async (status, outcome, pan) => {
      const MANY = 40;
      const answers = await Promise.all(Array.from({ length: MANY }, () => gateway.api.purchase({ pan })));
      expect(answers.map((answer) => answer.status)).toEqual(Array.from({ length: MANY }, () => status));
      const lines = await vi.waitUntil(async () => {
        const told = await warningsWith('failed answers', { outcome });
        return sum(told) === MANY && told;
      }, PATIENTLY);
      expect(lines.length).toBeLessThan(MANY / 2);
      expect(lines[0]).toMatchObject({
        level: WARNING,
        status,
        outcome,
        route: '/v1/transactions/purchase',
        audit: expect.any(Number),
        correlation_id: expect.any(String),
      });
    },
  );

  test('503 of a gateway that is not ready → a warning that names the route', async () => {
    const behind = await testGateway();
    await behind.sql('DELETE FROM schema_migration');
    expect((await fetch(new URL('/readyz', behind.baseUrl))).status).toBe(503);
    const [line] = await vi.waitUntil(() => {
      const told = logLines(behind).filter(({ msg }) => msg === 'failed answers');
      return told.length > 0 && told;
    }, PATIENTLY);
    expect(line).toMatchObject({
      level: WARNING,
      status: 503,
      outcome: 'not ready',
      route: '/readyz',
      count: 1,
    });
  });

  test('responses that are the client’s own fault → no such warning', async () => {
    await gateway.api.purchase({ amount: '0', correlationId: 'own-fault' });
    await gateway.api.lookUp(2_147_483_647);
    await warningsWith('failed answers');
    for (const { status } of await warningsWith('failed answers')) expect([502, 504]).toContain(status);
  });
});

describe('failed log-ins', () => {
  const tried = (username: string, password = 'wrong-password') =>
    gateway.as({ username, password }).call('/transactions/1');

  test('a wrong secret → the log has the user name and the address, never the secret', async () => {
    await tried('owner', 'hunter2-hunter2');
    const [line] = await warningsWith('failed log-in', { username: 'owner' });
    expect(line).toMatchObject({
      level: WARNING,
      username: 'owner',
      address: expect.stringContaining('127.0.0.1'),
    });
    expect(gateway.logged()).not.toContain('hunter2');
  });

  test('no credentials → the log has the address alone', async () => {
    await client(gateway.baseUrl).call('/transactions/1');
    const lines = await vi.waitUntil(async () => {
      const told = (await warningsWith('failed log-in')).filter((line) => line.username === undefined);
      return told.length > 0 && told;
    }, PATIENTLY);
    expect(lines[0]).toMatchObject({ address: expect.stringContaining('127.0.0.1'), count: 1 });
  });

  test.each([
    ['a card number', '4111111111111111', '****************'],
    ['a card number in groups', '4111-1111-1111-1111', '****-****-****-****'],
    ['something with a line break', 'evil\n{"level":50}', '(no possible user name)'],
    ['a text without end', 'x'.repeat(5_000), '(no possible user name)'],
    ['what may be a secret', 'Zm9vYmFyYmF6cXV4Zm9vYmFyYmF6cXV4', '(perhaps a secret)'],
    ['nothing', '', '(empty)'],
  ])('%s as the user name → logged only as far as it is safe', async (_, username, shown) => {
    await tried(username);
    expect(await warningsWith('failed log-in', { username: shown })).not.toHaveLength(0);
    if (username.length > 10) expect(gateway.logged()).not.toContain(username.slice(0, 20));
  });

  test('hundreds of user names within moments → a bounded number of lines, and a count of the others', async () => {
    const MANY = 300;
    const before = logLines(gateway).length;
    const beganMs = performance.now();
    await Promise.all(Array.from({ length: MANY }, (_, number) => tried(`guess-${number}`)));
    const told = await vi.waitUntil(() => {
      const since = logLines(gateway).slice(before);
      const named = since.filter((line) => String(line.username).startsWith('guess-'));
      const others = since.filter((line) => line.msg === 'further failed log-ins');
      return sum(named) + sum(others) >= MANY && { named, others };
    }, PATIENTLY);
    expect(told.others.length).toBeGreaterThan(0);
    // Ten a second, however many seconds they took on this machine.
    const seconds = (performance.now() - beganMs) / 1_000;
    expect(told.named.length).toBeLessThanOrEqual(10 * (seconds + 1));
  });
});
