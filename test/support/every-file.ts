// Runs before each test file. A module is loaded once for all files of a worker, so that a hook of a module in
// test/support would be one of the first file only: it belongs here.
import { afterAll } from 'vitest';
import { leaveNothingBehind } from './process.js';

afterAll(leaveNothingBehind);
