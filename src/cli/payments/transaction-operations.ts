// `tollgate transaction void|refund|complete|ask` and `tollgate approval`: what operators have the gateways do with a transaction, and
// what a second person says to it.
import { randomUUID } from 'node:crypto';
import type { Command } from 'commander';
import { readSettings } from '../../gateway/settings/settings.js';
import { askNow } from '../../payments/doubt/doubts.js';
import { approveRequest, listRequests, refuseRequest } from '../../payments/requests/approvals.js';
import type { OperatorRequest, OperatorsOperation } from '../../payments/requests/operator-request.js';
import { requestOperation } from '../../payments/requests/operator-requests.js';
import { moneyText } from '../../values/money.js';
import { Refusal } from '../../values/refusal.js';
import { amount, id } from '../arguments.js';
import { operate, operateRequests } from '../operator.js';
import { type Output, printing } from '../output.js';

const LISTED = 50;

interface OperationOptions {
  readonly organisation?: number;
  readonly amount?: number;
  readonly reason: string;
  readonly key?: string;
}

export function addTransactionOperations(transaction: Command): void {
  addOperation(transaction, 'void', 'void', 'void a transaction before it settles');
  addOperation(transaction, 'refund', 'refund', 'refund a transaction, or a part of it');
  addOperation(transaction, 'complete', 'completion', 'complete a preauthorisation, or a part of it');
  printing(
    transaction
      .command('ask')
      .argument('<audit>', 'its number', id)
      .description('have the acquirer asked at once about a transaction in doubt')
      .option('--organisation <id>', 'the organisation, where several have such a number', id),
    async (audit: number, { organisation }: { organisation?: number }) => {
      const { acquirerDeadlineMs } = readSettings();
      const value = await operate((database, operator) =>
        askNow(database, operator, acquirerDeadlineMs, { audit, organisation }),
      );
      const sentence = value.asked
        ? `The acquirer is asked about ${audit} at the next look of a gateway's resolver.`
        : `The acquirer is being asked about ${audit}, or will be by ${value.nextAttempt}.`;
      return { value, sentence };
    },
  );
}

export function addApprovalCommands(program: Command): void {
  const approval = program
    .command('approval')
    .description('what operators have asked for, and what a second person says to it');
  printing(
    approval
      .command('list')
      .description('list what waits for approval, and what is being processed; the newest first')
      .option('--organisation <id>', 'only of this organisation', id)
      .option('--audit <audit>', 'only about this transaction', id)
      .option('--all', 'also what was done, refused, has expired or failed')
      .option('--limit <count>', 'how many at most', id, LISTED),
    async (wish: { organisation?: number; audit?: number; all?: boolean; limit: number }) => ({
      rows: await operate((database) => listRequests(database, wish)),
    }),
  );
  printing(
    approval
      .command('approve')
      .argument('<request>', 'its number', id)
      .description('approve what another operator has asked for, and have it done')
      .option('--organisation <id>', 'the organisation that it concerns', id)
      .option('--reason <text>', 'why'),
    async (request: number, wish: { organisation?: number; reason?: string }) =>
      told(
        await operateRequests((database, operator, means) =>
          approveRequest(database, operator, means, { request, ...wish }),
        ),
      ),
  );
  printing(
    approval
      .command('refuse')
      .argument('<request>', 'its number', id)
      .description('refuse what another operator has asked for, or take back what you have')
      .option('--organisation <id>', 'the organisation that it concerns', id)
      .option('--reason <text>', 'why'),
    async (request: number, wish: { organisation?: number; reason?: string }) => {
      const value = await operate((database, operator) =>
        refuseRequest(database, operator, { request, ...wish }),
      );
      return { value, sentence: `Request ${request} is refused.` };
    },
  );
}

function addOperation(
  transaction: Command,
  name: string,
  operation: OperatorsOperation,
  description: string,
): void {
  const command = transaction.command(name).argument('<audit>', 'its number', id).description(description);
  if (operation !== 'void') command.option('--amount <cents>', 'how much; all that is left', amount);
  printing(
    command
      .requiredOption('--reason <text>', 'why; the journal has it')
      .option('--organisation <id>', 'the organisation, where several have such a number', id)
      .option('--key <key>', 'asked for again under the same key, it happens once'),
    async (audit: number, options: OperationOptions) => told(await asked(operation, audit, options)),
  );
}

async function asked(
  operation: OperatorsOperation,
  audit: number,
  { amount: amountCents, organisation, reason, key = randomUUID() }: OperationOptions,
): Promise<OperatorRequest> {
  const wish = { operation, audit, organisation, amountCents, reason, key };
  let begun = false;
  try {
    return await operateRequests((database, operator, means) => {
      begun = true;
      return requestOperation(database, operator, means, wish);
    });
  } catch (error) {
    if (!begun || (error instanceof Refusal && error.code !== 'request_outcome_unknown')) throw error;
    const why = error instanceof Refusal ? (error as Refusal<'request_outcome_unknown'>).details : undefined;
    throw new Refusal('request_outcome_unknown', { key, reason: why?.reason ?? (error as Error).message });
  }
}

function told(value: OperatorRequest): Output {
  const { operation, targetAudit, amountCents, currency, request, state, audit, status, responseCode } =
    value;
  const what = `${operation} of ${targetAudit}, ${moneyText(amountCents, currency)}`;
  if (state === 'waiting')
    return { value, sentence: `Request ${request} (${what}) waits for the approval of a second operator.` };
  if (state === 'ready' || state === 'approved')
    return {
      value,
      sentence: `Request ${request} (${what}) is still being processed; \`tollgate approval list --all --audit ${targetAudit}\` shows what becomes of it.`,
    };
  if (state === 'expired')
    return { value, sentence: `Request ${request} (${what}) has expired: nothing was done.` };
  const code = responseCode === null ? '' : ` (${responseCode})`;
  const outcome = audit === null ? state : `transaction ${audit}, ${status}${code}`;
  return { value, sentence: `${what}: ${outcome}.` };
}
