// What is thrown while the identity provider cannot be reached. In a file of its own: its client is loaded only where there is one.

/** It cannot be reached, or is none. */
export class ProviderUnavailable extends Error {
  override readonly name = 'ProviderUnavailable';
}
