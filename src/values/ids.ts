// The numbers by which things are known. Each has a type of its own, so that one cannot be given where another is meant:
// tenancy depends on it. A number becomes one where it comes from: a row of the database, or an argument that was checked.

export type OrganisationId = number & { readonly __organisation: unique symbol };

export type MerchantId = number & { readonly __merchant: unique symbol };

/** The number of a transaction within its organisation. */
export type Audit = number & { readonly __audit: unique symbol };

export type CustomerId = number & { readonly __customer: unique symbol };

export type WebhookEndpointId = number & { readonly __webhookEndpoint: unique symbol };

export type TokenId = number & { readonly __token: unique symbol };
