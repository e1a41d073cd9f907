// What operators are refused about voids, refunds and completions that they ask for, and about approving them.

export const REQUEST_REFUSALS = {
  reason_not_allowed: () =>
    'a reason is needed: 1 to 200 characters without control characters, and no card number',
  request_key_not_allowed: () => 'a key takes 16 to 64 letters, digits, and - _',
  request_key_used: ({ audit, operation }: { audit: number; operation: string }) =>
    `this key was used for something else: a ${operation} of transaction ${audit}`,
  request_not_found: ({ request }: { request: number }) => `there is no request ${request}`,
  request_outcome_unknown: ({ reason }: { key?: string; reason: string }) =>
    `nobody knows whether it was done (${reason}); ask for it again under the same key: it happens once`,
  request_altered: ({ request }: { request: number }) =>
    `request ${request} is not as it was stored: somebody has changed it in the database; nothing was done`,
  request_of_changed_operator: ({ request }: { request: number }) =>
    `whoever asked for request ${request}, or approved it, was changed or removed since; nothing was done: ask for it again`,
  no_gateway_running: () =>
    'no gateway runs on this database that could carry it out; nothing was stored or done: start one, and try again',
  request_decided: ({ request, state }: { request: number; state: string }) =>
    `request ${request} cannot be decided any more: it is ${state}`,
  request_of_same_operator: ({ request }: { request: number }) =>
    `request ${request} needs the approval of another operator than the one who made it`,
  approval_needs_operator: () =>
    'only an operator by name can approve: an account of the system is no person',
};
