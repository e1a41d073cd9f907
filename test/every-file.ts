// Runs before each test file. A module is loaded once for all files of a worker, so that a hook of a module in
// testkit/ would be one of the first file only: it belongs here.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll } from 'vitest';
import { sydneyTimestamp } from '../src/values/time.js';
import { leaveNothingBehind } from '../testkit/gateway-process.js';

// The minutes before a business day closes and before the next day begins, after which a purchase of the minute
// before is no longer voidable, or of yesterday. A file does not begin in them.
const LAST_MINUTES = ['17:59', '23:59'];

const minuteInSydney = () => sydneyTimestamp(Date.now()).slice('YYYY-MM-DDT'.length).slice(0, 'HH:MM'.length);

while (LAST_MINUTES.includes(minuteInSydney())) await sleep(500);

afterAll(leaveNothingBehind);
