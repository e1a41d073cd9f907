// What `npm run proof runtimes` has every runtime do with the client. It uses nothing but the client and the web's own interfaces, so that it
// can be started by any of them: Node, Bun and Deno as a program, a worker by a request.
import { OutcomeUnknown, Refused, Tollgate, verifyWebhook, WebhookRejected } from 'tollgate-client';

export interface TripPlan {
  /** The gateway; a proxy that loses the first answer to each purchase; an address at which nobody listens. */
  readonly baseUrl: string;
  readonly losing: string;
  readonly nowhere: string;
  readonly username: string;
  readonly password: string;
  readonly merchant: number;
  /** Unlike that of any other trip. */
  readonly reference: string;
  /** Of an event that was signed a moment ago. */
  readonly webhook: {
    readonly body: string;
    readonly headers: Record<string, string>;
    readonly secret: string;
  };
}

/** What happened, in words: the proof knows what it should have been. */
export type TripReport = Readonly<Record<string, string>>;

export async function trip(plan: TripPlan): Promise<TripReport> {
  const { username, password, merchant, reference, webhook } = plan;
  const credentials = { username, password, firstPauseMs: 20, requestTimeoutMs: 2_000 };
  const tollgate = new Tollgate({ ...credentials, baseUrl: plan.baseUrl });
  const losing = new Tollgate({ ...credentials, baseUrl: plan.losing });
  const nowhere = new Tollgate({ ...credentials, baseUrl: plan.nowhere, outcomeTimeoutMs: 1_000 });

  const pay = (by: Tollgate, name: string, pan = '4111111111111111') =>
    by
      .purchase({
        merchant: { id: merchant },
        transaction: {
          reference: `${reference}-${name}`,
          amount_details: { total_amount: '1995', currency: 'AUD' },
          payment_method: { creditcard: { pan, expiry_date: '1230' } },
        },
      })
      .then(({ outcome }) => outcome, named);
  const charges = async (name: string) => {
    let count = 0;
    for await (const _ of tollgate.history({ reference: `${reference}-${name}` })) count += 1;
    return `${count}`;
  };

  const report: Record<string, string> = {};
  report.purchase = await pay(tollgate, 'plain');
  report.refused = await pay(tollgate, 'refused', '4111111111111112');
  report.lostAnswer = await pay(losing, 'lost');
  report.lostAnswerCharges = await charges('lost');
  // The proxy keeps the second one open: the client gives it up by itself.
  report.swallowedAnswer = await pay(losing, 'swallowed');
  report.swallowedAnswerCharges = await charges('swallowed');
  report.nobodyThere = await pay(nowhere, 'nowhere');
  report.webhook = await verifyWebhook(webhook).then(({ type }) => type, named);
  const forged = { ...webhook, body: webhook.body.replace('approved', 'declined') };
  report.forgedWebhook = await verifyWebhook(forged).then(({ type }) => type, named);
  return report;
}

function named(error: unknown): string {
  if (error instanceof Refused)
    return `Refused ${error.status} ${error.problems.map((each) => each.error_code)}`;
  if (error instanceof OutcomeUnknown) return `${error.name} ${error.reason} ${error.last}`;
  if (error instanceof WebhookRejected) return `WebhookRejected ${error.reason}`;
  return String(error);
}
