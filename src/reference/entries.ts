// The operations of the OpenAPI document, one by one, for the reference page.
import type { OpenApiDocument, OpenApiOperation } from '../api/openapi/openapi.js';

export interface Entry {
  readonly method: string;
  readonly path: string;
  readonly operation: OpenApiOperation;
}

export function entriesOf({ paths }: OpenApiDocument): Entry[] {
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  );
}
