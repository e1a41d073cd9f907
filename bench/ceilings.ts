// What nothing above it can be faster than: the two batched statements of a purchase straight to PostgreSQL, and a bare
// Fastify that checks the same body. Each runs as a process of its own, as the gateway does.
import { randomBytes } from 'node:crypto';
import Fastify from 'fastify';
import { Compile } from 'typebox/compile';
import { PaymentBody } from '../dist/api/schemas.js';
import '../dist/api/validation.js';
import { Database } from '../dist/postgres/database.js';
import { AuditLeases } from '../dist/transactions/audit-leases.js';
import { Claims } from '../dist/transactions/claim.js';
import { ProcessRegistry } from '../dist/transactions/process-registry.js';
import { Records } from '../dist/transactions/record.js';

/** Purchases without HTTP, card or acquirer: commit A and commit B, as many at once as there are connections. */
async function statements({ databaseUrl, connections, seconds }) {
  const database = new Database(databaseUrl, { maxConnections: 4, planOnce: true });
  const registry = await ProcessRegistry.register(database);
  const leases = new AuditLeases(database, registry);
  await registry.heartbeat(leases);
  const options = { maxBatch: 256, lanes: 1 };
  const claims = new Claims(database, registry, options);
  const records = new Records(database, options);
  const run = randomBytes(6).toString('hex');
  // As long as a real one: nonce, card number and expiry date, tag.
  const sealed = randomBytes(80);
  const untilMs = performance.now() + seconds * 1000;
  let done = 0;
  const one = async () => {
    while (performance.now() < untilMs) {
      const audit = await leases.take(1);
      await claims.direct({
        organisationId: 1,
        audit,
        merchantId: 1,
        transactionType: 'purchase',
        correlationId: `${run}-${audit}`,
        createdMs: Date.now(),
        reference: 'bench',
        amountCents: 1995,
        currency: 'AUD',
        cardMask: '411111******1111',
        cardType: 'visa',
        sealed,
        keyVersion: 1,
        username: 'demo',
        kvps: {},
        acquirer: 'simulator',
        inFlight: { epoch: 0, unseen: false },
      });
      const outcome = {
        status: 'approved',
        gatewayStatusCode: 0,
        responseCode: '00',
        responseMessage: 'Approved',
        settlementDate: '2026-11-16',
        authorisationCode: '123456',
        voidableUntilMs: Date.now() + 3_600_000,
      };
      await records.record({ organisationId: 1, audit }, outcome);
      leases.release(1, audit);
      done += 1;
    }
  };
  const startedMs = performance.now();
  await Promise.all(Array.from({ length: connections }, one));
  const elapsedSeconds = (performance.now() - startedMs) / 1000;
  await registry.deregister(leases);
  await database.close();
  return { perSecond: Math.round(done / elapsedSeconds) };
}

/** Checks the body and answers as much as a purchase is answered with. Prints its port. */
async function fastify({ answer }) {
  const app = Fastify();
  const check = Compile(PaymentBody);
  app.post('/v1/transactions/purchase', async (request, reply) => {
    if (!check.Check(request.body)) return reply.code(422).send();
    return reply.code(201).send(answer);
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  process.stdout.write(`${JSON.stringify({ port: app.server.address().port })}\n`);
}

const asked = JSON.parse(process.argv[2]);
if (asked.kind === 'fastify') await fastify(asked);
else process.stdout.write(`${JSON.stringify(await statements(asked))}\n`);
