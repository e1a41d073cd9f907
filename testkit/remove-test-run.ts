// Waits until its standard input ends, which it does when the test run ends or is killed, and removes what the run has left.
import { removeRun } from './test-runs.js';

const [, , folder = ''] = process.argv;
// The terminal sends it to every process, but this one has its work still to do.
process.on('SIGINT', () => {});
process.stdin.resume().on('end', () => void removeRun(folder));
