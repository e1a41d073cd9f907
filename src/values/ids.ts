// IDs. Each has a type of its own, so that passing the wrong kind does not compile: tenancy depends on it. A number becomes an ID where
// it enters: in a database row, or in an argument that was checked.

export type OrganisationId = number & { readonly __organisation: unique symbol };

export type MerchantId = number & { readonly __merchant: unique symbol };

/** The number of a transaction, unique within its organisation. */
export type Audit = number & { readonly __audit: unique symbol };

export type CustomerId = number & { readonly __customer: unique symbol };

export type WebhookEndpointId = number & { readonly __webhookEndpoint: unique symbol };

export type TokenId = number & { readonly __token: unique symbol };
