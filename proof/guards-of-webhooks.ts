// The guards of webhooks: where they may go, who may record them, and in which order they are sent.
import type { Guard } from './guard.js';

export const WEBHOOK_GUARDS: readonly Guard[] = [
  {
    name: 'webhooks: a probe counts as no attempt',
    file: 'src/webhooks/progress.ts',
    find: '    if (delivery.probe) continue;\n',
    replace: '',
    tests: [
      ['test/webhooks/probes.test.ts', 'after a minute it gets one message, which counts as no attempt'],
    ],
  },
  {
    name: 'webhooks: localhost is refused as soon as it is read',
    file: 'src/webhooks/destination.ts',
    find: 'isLocalhost(hostname)',
    replace: 'hostname === ""',
    tests: [['test/webhooks/webhook-addresses.test.ts', 'refused as soon as it is read']],
  },
  {
    name: 'webhooks: an address that is forbidden cannot be added',
    processes: true,
    file: 'src/webhooks/destination.ts',
    find: "  if (verdict === 'forbidden') return 'address_forbidden';\n",
    replace: '',
    tests: [['test/webhooks/webhook-commands.test.ts', '→ refused in one line']],
  },
  {
    name: 'webhooks: every address of a name is judged at each attempt',
    file: 'src/webhooks/sender.ts',
    find: "    if (verdicts.includes('forbidden')) return failed('address_forbidden');\n",
    replace: '',
    tests: [
      ['test/webhooks/webhook-addresses.test.ts', 'an answer that changes between check and connection'],
    ],
  },
  {
    name: 'webhooks: the judged address is called, and not its name',
    file: 'src/webhooks/sender.ts',
    find: '        host: address,\n',
    replace: '        host: hostname,\n',
    tests: [
      ['test/webhooks/webhook-addresses.test.ts', 'an answer that changes between check and connection'],
    ],
  },
  {
    name: 'webhooks: only whoever has the lease records',
    file: 'src/webhooks/delivery.sql.ts',
    find: `      WHERE organisation_id = $1 AND id = $2 AND lease = $3
      RETURNING organisation_id`,
    replace: `      WHERE organisation_id = $1 AND id = $2 AND lease >= $3
      RETURNING organisation_id`,
    tests: [['test/webhooks/webhook-processes.test.ts', 'a lease that was taken over']],
  },
  {
    name: 'webhooks: nobody takes an endpoint that another works for',
    file: 'src/webhooks/delivery.sql.ts',
    find: `      WHERE e.disabled_at IS NULL AND (e.leased_until IS NULL OR e.leased_until < now())
        AND (e.paused_until IS NULL OR e.paused_until <= now())
      FOR UPDATE OF e SKIP LOCKED`,
    replace: `      WHERE e.disabled_at IS NULL
      FOR UPDATE OF e SKIP LOCKED`,
    also: [
      {
        file: 'src/webhooks/delivery.sql.ts',
        find: `e.position < news.newest AND e.disabled_at IS NULL AND (e.leased_until IS NULL OR e.leased_until < now())`,
        replace: `e.position < news.newest AND e.disabled_at IS NULL`,
      },
    ],
    tests: [['test/webhooks/webhook-processes.test.ts', 'whoever had the lease is gone']],
  },
  {
    name: 'webhooks: what is new waits behind what failed about the same subject',
    file: 'src/webhooks/turn.ts',
    find: 'behind: waiting.has(delivery.subject)',
    replace: 'behind: false',
    tests: [['test/webhooks/failing-endpoints.test.ts', 'given up, and what is behind it goes on']],
  },
  {
    name: 'webhooks: two that are added at once are counted',
    file: 'src/webhooks/endpoints.sql.ts',
    find: 'FROM merchant WHERE id = $1 FOR NO KEY UPDATE',
    replace: 'FROM merchant WHERE id = $1',
    tests: [['test/webhooks/webhook-commands.test.ts', 'more endpoints than a merchant may have']],
  },
  {
    name: 'webhooks: a key that seals a secret is not destroyed',
    file: 'src/vault/rotation.sql.ts',
    find: `
      AND NOT EXISTS (SELECT FROM webhook_endpoint e WHERE e.organisation_id = k.organisation_id
        AND e.merchant_id = k.merchant_id AND e.key_version = k.version)`,
    replace: '',
    tests: [['test/webhooks/webhook-commands.test.ts', 'keys rotate']],
  },
];
