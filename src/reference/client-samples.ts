// Sample calls of each operation with the TypeScript and Python clients. A test runs all of them.

/** How a sample prints its result. */
const LOG = 'console.log';

/** `body` is the operation's example. */
export const TYPESCRIPT: Readonly<Record<string, (body: string) => string>> = {
  createPurchase: (body) => `const payment = await tollgate.purchase(${body});
${LOG}(payment.audit, payment.outcome);`,
  createPreauthorisation: (body) => `const hold = await tollgate.preauthorisation(${body});
${LOG}(hold.audit, hold.outcome);`,
  createCompletion: (body) => `const completion = await tollgate.completion(audit, ${body});
${LOG}(completion.audit, completion.outcome);`,
  createRefund: (body) => `const refund = await tollgate.refund(audit, ${body});
${LOG}(refund.audit, refund.outcome);`,
  createStandaloneRefund: (body) => `const refund = await tollgate.standaloneRefund(${body});
${LOG}(refund.audit, refund.outcome);`,
  voidTransaction: (body) => `const undone = await tollgate.void(audit, ${body});
${LOG}(undone.audit, undone.outcome);`,
  lookUpTransaction: () => `const transaction = await tollgate.transaction(audit);
${LOG}(transaction.outcome, transaction.transaction.amount_details);`,
  searchTransactions: () => `const found = await tollgate.search({
  merchant_id: 1,
  correlation_id_lookup: correlationId,
});
${LOG}(found?.audit, found?.outcome);`,
  listTransactions: () => `for await (const transaction of tollgate.history({ status: 'approved' })) {
  ${LOG}(transaction.audit, transaction.outcome);
}`,
  createCheckout: (body) => `const checkout = await tollgate.checkouts.create(${body});
${LOG}(checkout.url);`,
  lookUpCheckout: () => `const checkout = await tollgate.checkouts.get(checkoutId);
${LOG}(checkout.status, checkout.result?.audit);`,
  searchCheckouts: () => `const checkout = await tollgate.checkouts.search({
  merchant_id: 1,
  correlation_id_lookup: correlationId,
});
${LOG}(checkout?.url);`,
  cancelCheckout: () => `const checkout = await tollgate.checkouts.cancel(checkoutId);
${LOG}(checkout.status);`,
  createSchedule: (body) => `const schedule = await tollgate.schedules.create(${body});
${LOG}(schedule.id, schedule.next_date);`,
  lookUpSchedule: () => `const schedule = await tollgate.schedules.get(scheduleId);
${LOG}(schedule.status, schedule.dates);`,
  listSchedules: () => `for await (const schedule of tollgate.schedules.list({ status: 'active' })) {
  ${LOG}(schedule.id, schedule.next_date);
}`,
  changeSchedule: (body) => `const schedule = await tollgate.schedules.update(scheduleId, ${body});
${LOG}(schedule.next_date);`,
  pauseSchedule: () => `const schedule = await tollgate.schedules.pause(scheduleId);
${LOG}(schedule.status);`,
  resumeSchedule: () => `const schedule = await tollgate.schedules.resume(scheduleId);
${LOG}(schedule.status);`,
  cancelSchedule: () => `const schedule = await tollgate.schedules.cancel(scheduleId);
${LOG}(schedule.status);`,
  settlementOfDay: () => `const day = await tollgate.settlement('2026-11-16');
${LOG}(day.closed, day.net);`,
  searchCustomers: () => `for await (const customer of tollgate.customers.list({ name: 'Ada' })) {
  ${LOG}(customer.id, customer.reference);
}`,
  findOrCreateCustomer: (body) => `const customer = await tollgate.customers.create(${body});
${LOG}(customer.id);`,
  lookUpCustomer: () => `const customer = await tollgate.customers.get(customerId);
${LOG}(customer.name);`,
  updateCustomer: (body) => `const customer = await tollgate.customers.update(customerId, ${body});
${LOG}(customer.name);`,
  deleteCustomer: () => 'await tollgate.customers.delete(customerId);',
  listTokens: () => `for await (const token of tollgate.tokens.list(customerId)) {
  ${LOG}(token.preferred_name, token.virtual_pan);
}`,
  createToken: (body) => `const token = await tollgate.tokens.create(customerId, ${body});
${LOG}(token.virtual_pan);`,
  lookUpToken: () => `const token = await tollgate.tokens.get(customerId, tokenId);
${LOG}(token.active);`,
  updateToken: (body) => `const token = await tollgate.tokens.update(customerId, tokenId, ${body});
${LOG}(token.active);`,
  deleteToken: () => 'await tollgate.tokens.delete(customerId, tokenId);',
  listEvents: () => `for await (const { results, next } of tollgate.events({ wait: 0 }).pages()) {
  for (const event of results) ${LOG}(event.type, event.version);
  // Store \`next\` with what you made of them, and go on from there.
  ${LOG}(next);
}`,
};

const AMOUNT = `    amount_cents=1995,
    currency="AUD",`;
const CARD = `    payment_method=Card("4111111111111111", "1230", "123"),`;

export const PYTHON: Readonly<Record<string, string>> = {
  createPurchase: `payment = tollgate.purchase(
    reference="order-1001",
${AMOUNT}
${CARD}
)
print(payment.audit, payment.outcome.value)`,
  createPreauthorisation: `hold = tollgate.preauthorisation(
    reference="order-1001",
${AMOUNT}
${CARD}
)
print(hold.audit, hold.outcome.value)`,
  createCompletion: `completion = tollgate.completion(
    audit,
    reference="order-1001-completion",
${AMOUNT}
)
print(completion.audit, completion.outcome.value)`,
  createRefund: `refund = tollgate.refund(
    audit,
    reference="order-1001-refund",
${AMOUNT}
)
print(refund.audit, refund.outcome.value)`,
  createStandaloneRefund: `refund = tollgate.standalone_refund(
    reference="order-1001",
${AMOUNT}
${CARD}
)
print(refund.audit, refund.outcome.value)`,
  voidTransaction: `undone = tollgate.void(audit, reference="order-1001-void")
print(undone.audit, undone.outcome.value)`,
  lookUpTransaction: `transaction = tollgate.transaction(audit)
print(transaction.outcome.value, transaction.transaction)`,
  searchTransactions: `found = tollgate.search(correlation_id)
print(found and found.outcome.value)`,
  listTransactions: `for transaction in tollgate.history(status="approved"):
    print(transaction.audit, transaction.outcome.value)`,
  createCheckout: `checkout = tollgate.checkouts.create(
    reference="order-1001",
${AMOUNT}
    description="Two tickets for Saturday",
    return_url="https://shop.example/paid",
)
print(checkout.url)`,
  lookUpCheckout: `checkout = tollgate.checkouts.get(checkout_id)
print(checkout.status, checkout.audit)`,
  searchCheckouts: `checkout = tollgate.checkouts.search(correlation_id)
print(checkout and checkout.url)`,
  cancelCheckout: `checkout = tollgate.checkouts.cancel(checkout_id)
print(checkout.status)`,
  createSchedule: `schedule = tollgate.schedules.create(
    reference="subscription-1001",
    virtual_pan="9217664744023758",
${AMOUNT}
    first_date="2036-12-01",
    every={"months": 1},
)
print(schedule.id, schedule.next_date)`,
  lookUpSchedule: `schedule = tollgate.schedules.get(schedule_id)
print(schedule.status, schedule.raw["dates"])`,
  listSchedules: `for schedule in tollgate.schedules.list(status="active"):
    print(schedule.id, schedule.next_date)`,
  changeSchedule: `schedule = tollgate.schedules.update(schedule_id, next_date="2036-12-05")
print(schedule.next_date)`,
  pauseSchedule: `schedule = tollgate.schedules.pause(schedule_id)
print(schedule.status)`,
  resumeSchedule: `schedule = tollgate.schedules.resume(schedule_id)
print(schedule.status)`,
  cancelSchedule: `schedule = tollgate.schedules.cancel(schedule_id)
print(schedule.status)`,
  settlementOfDay: `day = tollgate.settlement("2026-11-16")
print(day.closed, day.net)`,
  searchCustomers: `for customer in tollgate.customers.list(name="Ada"):
    print(customer.id, customer.reference)`,
  findOrCreateCustomer: `customer = tollgate.customers.create(reference="customer-42", name="Ada Lovelace")
print(customer.id)`,
  lookUpCustomer: `customer = tollgate.customers.get(customer_id)
print(customer.name)`,
  updateCustomer: `customer = tollgate.customers.update(customer_id, name="Ada Lovelace")
print(customer.name)`,
  deleteCustomer: 'tollgate.customers.delete(customer_id)',
  listTokens: `for token in tollgate.tokens.list(customer_id):
    print(token.preferred_name, token.virtual_pan)`,
  createToken: `token = tollgate.tokens.create(
    customer_id,
    preferred_name="Everyday card",
    account=CardToStore("4111111111111111", "1230", "Ada Lovelace"),
)
print(token.virtual_pan)`,
  lookUpToken: `token = tollgate.tokens.get(customer_id, token_id)
print(token.active)`,
  updateToken: `token = tollgate.tokens.update(customer_id, token_id, active=False)
print(token.active)`,
  deleteToken: 'tollgate.tokens.delete(customer_id, token_id)',
  listEvents: `for page in tollgate.events(wait=0).pages():
    for event in page.results:
        print(event.type, event.version)
    # Store page.next with what you made of them, and go on from there.
    print(page.next)`,
};

/** As a developer writes it: unquoted keys where possible, short objects on one line. */
export function literal(value: unknown, indent = ''): string {
  if (typeof value === 'string') return `'${value.replaceAll(/['\\]/g, '\\$&')}'`;
  if (typeof value !== 'object' || value === null) return String(value);
  const inside = `${indent}  `;
  const members = (items: readonly string[], [open, close]: string, room: string) => {
    const line = `${open}${room}${items.join(', ')}${room}${close}`;
    const short = !line.includes('\n') && indent.length + line.length <= 60;
    return short ? line : `${open}\n${items.map((item) => `${inside}${item},\n`).join('')}${indent}${close}`;
  };
  if (Array.isArray(value))
    return members(
      value.map((item) => literal(item, inside)),
      '[]',
      '',
    );
  const items = Object.entries(value).map(
    ([name, member]) => `${/^[a-z_]+$/i.test(name) ? name : `'${name}'`}: ${literal(member, inside)}`,
  );
  return members(items, '{}', ' ');
}
