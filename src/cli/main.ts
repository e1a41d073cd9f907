// The only entry point.
import { runCommand } from './command-line.js';

const code = await runCommand(process.argv.slice(2));
// Whatever a command that failed has left open is not waited for.
if (code !== undefined) process.exit(code);
