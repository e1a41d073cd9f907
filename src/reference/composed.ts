// What the documents about the interface are, and where the build leaves them.

export interface Documents {
  readonly openApi: Buffer;
  readonly reference: Buffer;
}

/** Where the build leaves them: beside the compiled modules, whether it is one of those that asks or the whole program in one. */
export const COMPOSED = {
  openApi: new URL('../reference/openapi.json', import.meta.url),
  reference: new URL('../reference/reference.html', import.meta.url),
};
