// What docs/ARCHITECTURE.md and its chapters say of files: they are there, and a purchase runs through those that the page lists.
import { existsSync, readdirSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { testGateway } from '../../testkit/gateway.js';
import { PROJECT_ROOT } from '../../testkit/project.js';
import { filesUnder, read } from '../../testkit/project-files.js';

const PAGE = read('docs/ARCHITECTURE.md');
const CHAPTERS = filesUnder('docs/architecture');
const ROUNDS = 8;
/** After a second users are read again, which is not part of a purchase. */
const FRESH_MS = 800;

const filesIn = (text: string) =>
  [...text.matchAll(/`((?:src|test|testkit|proof|bench|schema|migrations)\/[\w./-]+\.(?:ts|sql))`/g)].map(
    ([, path]) => path as string,
  );

test('every file that the pages name exists', () => {
  const named = filesIn([PAGE, ...CHAPTERS.map(read)].join('\n'));
  expect(named.length).toBeGreaterThan(100);
  expect(named.filter((path) => !existsSync(path))).toEqual([]);
});

/** The files of src/ of which a function ran, or a constant was read, since the last look. */
async function filesThatRan(session: Session): Promise<Set<string>> {
  const { result } = await session.post('Profiler.takePreciseCoverage');
  const ran = result.filter(({ functions }) => functions.some(({ ranges }) => (ranges[0]?.count ?? 0) > 0));
  return new Set(
    ran.flatMap(({ url }) => url.split(join(PROJECT_ROOT, 'src/'))[1] ?? []).map((path) => `src/${path}`),
  );
}

test('a purchase → runs through exactly the files that the page lists', async () => {
  const [, section = ''] = /^## The way of a purchase\n([\s\S]*?)^These are all the files/m.exec(PAGE) ?? [];
  const listed = filesIn(section);
  const gateway = await testGateway();
  const session = new Session();
  session.connect();
  const idle = new Set<string>();
  const windows: Set<string>[] = [];
  try {
    await session.post('Profiler.enable');
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
    while (windows.length < ROUNDS) {
      await filesThatRan(session);
      // Long enough for background work to run, which falls into some of the purchases' windows too.
      await sleep(100);
      for (const path of await filesThatRan(session)) idle.add(path);
      // What has gone stale is read again here.
      const readMs = performance.now();
      await gateway.api.purchase();
      await filesThatRan(session);
      await gateway.api.purchase();
      const window = await filesThatRan(session);
      // On a busy machine some rounds take too long.
      if (performance.now() - readMs < FRESH_MS) windows.push(window);
    }
  } finally {
    session.disconnect();
  }
  const ever = new Set(windows.flatMap((window) => [...window]));
  const always = [...ever].filter((path) => windows.every((window) => window.has(path)));
  const step = 'Bring the steps in docs/ARCHITECTURE.md and the code into step.';
  expect(always.filter((path) => !listed.includes(path) && !idle.has(path)).sort(), step).toEqual([]);
  expect(listed.filter((path) => !ever.has(path)).sort(), step).toEqual([]);
});

test('the page has a line for each folder of src/, and no other', () => {
  const rooms = [...PAGE.matchAll(/^\| `src\/([\w-]+)` \|/gm)].map(([, room]) => room as string);
  expect([...rooms].sort()).toEqual(readdirSync('src').sort());
});
