// Waits until its standard input ends, which happens when the test run ends or is killed, and removes everything the run has
// left.
import { removeRun } from './test-runs.js';

const [, , folder = ''] = process.argv;
// The terminal sends it to every process, but this one still has work to do.
process.on('SIGINT', () => {});
process.stdin.resume().on('end', () => void removeRun(folder));
