#!/usr/bin/env node
// The command `tollgate`. The program itself is compiled from src/ by `npm run build`.
import { loadProgram } from './program.js';

// Node would open a debugger, by which anybody on this machine could read card numbers out of the process.
process.on('SIGUSR1', () => {});
// The database driver looks here for where it runs. Node 20 has no such name, and the driver's next best test loads Node's whole
// HTTP client.
globalThis.navigator ??= { userAgent: `Node.js/${process.versions.node}` };

const program = loadProgram();
if (program === undefined) {
  process.stderr.write('tollgate: not built yet. Run `npm ci` (or `npm run build`) first.\n');
  process.exit(1);
}
await program.main();
