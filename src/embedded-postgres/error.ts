// The error of the embedded PostgreSQL. Its message is one clear line for the user.
export class EmbeddedPostgresError extends Error {
  override readonly name = 'EmbeddedPostgresError';
}

export function errorCode(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : undefined;
}

/** Turns a failed operation on a file or directory into that line. */
export function cannot(what: string, error: unknown): EmbeddedPostgresError {
  const reason = errorCode(error) ?? (error instanceof Error ? error.message : String(error));
  return new EmbeddedPostgresError(`${what} (${reason})`, { cause: error });
}

/** A backup that could not be made or cannot be used, with the reason in one line. */
export class BackupError extends EmbeddedPostgresError {}
