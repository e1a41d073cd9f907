// The short form of `npm run proof failover`.
import { expect, test } from 'vitest';
import { runProof } from './program.js';

// catches(failover: neither a standby nor a former primary is asked, and neither is believed) slow, processes
test('two failovers, with addresses that lead to the wrong server → nothing lost, doubled or denied', async () => {
  const args = ['--failovers', '2', '--kinds', 'switchover,isolation', '--traders', '4', '--pause-ms', '100'];
  // How fast it serves again is measured where the machine is quiet.
  const { code, output } = await runProof('failover', [
    ...args,
    '--service-within-ms',
    '60000',
    '--seed',
    '5',
  ]);
  expect(output).toMatch(/^failover: seed 5, 2 failovers .* 0 promises broken$/m);
  expect(output).toMatch(
    /; [1-9]\d* acknowledged, 0 lost, 0 doubled, 0 false 404, 0 false empty, 0 answered 500; /,
  );
  expect(code).toBe(0);
});
