// Runs tests of a copy of the project, one request of its parent process after the other. Vitest and its database server's template are
// made ready once: that takes longer than most of the tests.
import { setTimeout as sleep } from 'node:timers/promises';
import { createVitest } from 'vitest/node';
import type { RanTest } from './verdict.js';

export interface RunRequest {
  /** The files of the tests, and a pattern of their names. */
  readonly files: readonly string[];
  readonly names: string;
  /** Files that have another text than when the tests were run last. */
  readonly changed: readonly string[];
  readonly timeoutMs: number;
}

const LONGEST_CLOSE_MS = 5_000;
const SLASH = /\\/g;
const copy = process.cwd();

const vitest = await createVitest('test', {
  watch: false,
  reporters: [{}],
  fileParallelism: false,
  // Nothing but what a request has changed differs from one run to the next.
  experimental: { fsModuleCache: true, fsModuleCachePath: `${copy}/modules` },
});
await vitest.standalone();

process.on('message', async (request: RunRequest) => {
  process.send?.(await run(request));
});
process.on('disconnect', async () => {
  // A test that was cut off may keep it from closing.
  await Promise.race([vitest.close(), sleep(LONGEST_CLOSE_MS)]);
  process.exit();
});
process.send?.('ready');

async function run({ files, names, changed, timeoutMs }: RunRequest): Promise<RanTest[]> {
  for (const file of changed) vitest.invalidateFile(`${copy}/${file}`);
  for (const { config } of vitest.projects) config.testTimeout = timeoutMs;
  vitest.setGlobalTestNamePattern(new RegExp(names));
  vitest.state.clearFiles(vitest.getRootProject());
  const { testModules } = await vitest.runTestSpecifications(await vitest.globTestSpecifications([...files]));
  return testModules.flatMap((module) => {
    const file = module.moduleId.slice(copy.length + 1).replace(SLASH, '/');
    return [...module.children.allTests()].flatMap((test) => {
      const { state, errors = [] } = test.result();
      if (state !== 'passed' && state !== 'failed') return [];
      return [{ file, name: fullName(test), failed: state === 'failed', message: errors[0]?.message ?? '' }];
    });
  });
}

/** As vitest's report has it: with spaces between the names of suites and test. */
function fullName(test: { readonly fullName: string }): string {
  return test.fullName.replaceAll(' > ', ' ');
}
