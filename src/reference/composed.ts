// What the documents about the interface are, and where the build leaves them.

export interface Documents {
  readonly openApi: Buffer;
  readonly reference: Buffer;
}

/** Where the build leaves them, beside the compiled modules. */
export const COMPOSED = {
  openApi: new URL('openapi.json', import.meta.url),
  reference: new URL('reference.html', import.meta.url),
};
