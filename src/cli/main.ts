// The only entry point.
import { endOnBrokenOutput } from './broken-output.js';
import { runCommand } from './command-line.js';

export async function main(): Promise<void> {
  endOnBrokenOutput();
  const code = await runCommand(process.argv.slice(2));
  // Whatever a command that failed has left open is not waited for.
  if (code !== undefined) process.exit(code);
}
