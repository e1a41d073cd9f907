// What nothing above it can be faster than: the two batched statements of a purchase straight to PostgreSQL, and a bare
// Fastify that checks the same body. Each runs as a process of its own, as the gateway does.
import Fastify from 'fastify';
import '../../src/api/validation.js';
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { PaymentBody } from '../../src/api/operations/transaction-schemas.js';
import { Compile } from '../../src/api/typebox.js';
import { Clock } from '../../src/clock/clock.js';
import { RECORD_RESOLUTIONS } from '../../src/directdebit/intake.sql.js';
import { Claims } from '../../src/payments/pipeline/claim.js';
import { Records } from '../../src/payments/pipeline/record.js';
import { RECORD_DIRECT } from '../../src/payments/pipeline/record.sql.js';
import { AuditLeases, ProcessRegistry } from '../../src/payments/processes/process-registry.js';
import { processTimes } from '../../src/payments/processes/process-times.js';
import type { Outcome } from '../../src/payments/transaction.js';
import { Database } from '../../src/postgres/database.js';
import type { MerchantId, OrganisationId } from '../../src/values/ids.js';
import { cents } from '../../src/values/money.js';
import type { DataKeys } from '../../src/vault/keys/keys.js';
import type { Loaded } from '../../testkit/load.js';
import type { StandaloneGateway } from '../../testkit/standalone.js';

const THIS = fileURLToPath(import.meta.url);

export interface PerSecond {
  readonly perSecond: number;
}

/** About what a purchase is answered with. */
const ANSWER = {
  audit: 1,
  gateway_timestamp: '2026-11-15T11:07:18.123+11:00',
  merchant: { id: 1 },
  kvps: {},
  status: {
    gateway_status_code: 0,
    gateway_status_message: 'Processed',
    transaction_status_code: 'approved',
    acquirer: { response_code: '00', response_message: 'Approved', settlement_date: '2026-11-16' },
  },
  _links: {
    self: { href: '/v1/transactions/1' },
    refund: { href: '/v1/transactions/1/refund' },
    void: { href: '/v1/transactions/1/void' },
  },
};

function start<Said>(asked: StatementsAsked | FastifyAsked): { child: ChildProcess; said: Promise<Said> } {
  const child = spawn(process.execPath, [THIS, JSON.stringify(asked)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const said = new Promise<Said>((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`a ceiling ended with ${code}`)));
    createInterface({ input: child.stdout }).once('line', (line) => resolve(JSON.parse(line)));
  });
  return { child, said };
}

export async function batchedStatements(
  gateway: StandaloneGateway,
  { connections, seconds }: { connections: number; seconds: number },
): Promise<PerSecond> {
  const databaseUrl = await gateway.databaseUrl();
  return start<PerSecond>({ kind: 'statements', databaseUrl, connections, seconds }).said;
}

export async function bareFastify(): Promise<Loaded & { stop(): void }> {
  const { child, said } = start<{ port: number }>({ kind: 'fastify', answer: ANSWER });
  const { port } = await said;
  child.removeAllListeners('exit');
  return { port, authorization: 'Basic YmVuY2g6YmVuY2g=', stop: () => void child.kill('SIGTERM') };
}

const ORGANISATION = 1 as OrganisationId;

interface StatementsAsked {
  readonly kind: 'statements';
  readonly databaseUrl: string;
  readonly connections: number;
  readonly seconds: number;
}

interface FastifyAsked {
  readonly kind: 'fastify';
  readonly answer: object;
}

/** The seal of an outcome is made elsewhere: here only PostgreSQL works. */
const KEYS = { attest: async () => Buffer.alloc(16) } as unknown as DataKeys;
const NO_RETRIES = { tagOfStored: async () => undefined };

/** Purchases without HTTP, card or acquirer: commit A and commit B, as many at once as there are connections. */
async function statements({ databaseUrl, connections, seconds }: StatementsAsked): Promise<PerSecond> {
  const database = new Database(databaseUrl, { maxConnections: 4, planOnce: true });
  const registry = await ProcessRegistry.register(database, processTimes(5_000));
  const leases = new AuditLeases(database, registry);
  await registry.heartbeat(leases);
  const options = { maxBatch: 256, lanes: 1 };
  const claims = new Claims(database, registry, options);
  const intake = { direct: RECORD_DIRECT, resolutions: RECORD_RESOLUTIONS };
  const records = new Records(
    { database, clock: new Clock(), intake, keys: KEYS, retries: NO_RETRIES },
    options,
  );
  const run = randomBytes(6).toString('hex');
  // As long as a real one: nonce, card number and expiry date, tag.
  const sealed = randomBytes(80);
  const untilMs = performance.now() + seconds * 1000;
  let done = 0;
  const one = async () => {
    while (performance.now() < untilMs) {
      const audit = await leases.take(ORGANISATION);
      const correlationId = `${run}-${audit}`;
      await claims.direct({
        organisationId: ORGANISATION,
        audit,
        merchantId: 1 as MerchantId,
        transactionType: 'purchase',
        correlationId,
        createdMs: Date.now(),
        reference: 'bench',
        amountCents: cents(1995),
        currency: 'AUD',
        cardMask: '411111******1111',
        cardType: 'visa',
        sealed,
        keyVersion: 1,
        username: 'demo',
        address: '127.0.0.1',
        userId: 1,
        kvps: {},
        acquirer: 'simulator',
        inFlight: { correlationId, epoch: 0, heard: 0, unseen: false, begun: true, turnedAway: false },
      });
      const outcome: Outcome = {
        status: 'approved',
        gatewayStatusCode: 0,
        responseCode: '00',
        responseMessage: 'Approved',
        settlementDate: '2026-11-16',
        authorisationCode: '123456',
        voidableUntilMs: Date.now() + 3_600_000,
      };
      await records.record(
        {
          organisationId: ORGANISATION,
          audit,
          merchantId: 1 as MerchantId,
          transactionType: 'purchase',
          correlationId,
          amountCents: cents(1995),
          currency: 'AUD',
          acquirer: 'simulator',
        },
        outcome,
      );
      leases.release(ORGANISATION, audit);
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
async function fastify({ answer }: FastifyAsked): Promise<void> {
  const app = Fastify();
  const check = Compile(PaymentBody);
  app.post('/v1/transactions/purchase', async (request, reply) => {
    if (!check.Check(request.body)) return reply.code(422).send();
    return reply.code(201).send(answer);
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  process.stdout.write(`${JSON.stringify({ port: (app.server.address() as AddressInfo).port })}\n`);
}

if (process.argv[1] === THIS) {
  const asked = JSON.parse(process.argv[2] ?? '') as StatementsAsked | FastifyAsked;
  if (asked.kind === 'fastify') await fastify(asked);
  else process.stdout.write(`${JSON.stringify(await statements(asked))}\n`);
}
