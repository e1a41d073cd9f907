// Who runs a command, for the journal.
import { userInfo } from 'node:os';

export function operator(): string {
  try {
    return `operator:${userInfo().username}`;
  } catch {
    // A user without a name, as in some containers.
    return `operator:${process.getuid?.() ?? 'unknown'}`;
  }
}
