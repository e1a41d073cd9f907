// What an operator hears when something cannot be done.

/** What the operator asked for cannot be done; the message is one clear line. */
export class AdministrationError extends Error {}
