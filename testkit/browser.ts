// A real browser for tests of the console: the Chromium of an npm package, or the one that TOLLGATE_TEST_BROWSER names. If
// neither can run, the tests are skipped with the reason.
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { environmentWithoutSettings, PROJECT_ROOT } from './project.js';

const OWN = process.env.TOLLGATE_TEST_BROWSER;
const HAS_PACKAGE = process.platform === 'linux' && process.arch === 'x64';

/** Undefined if a browser can run. */
export const WHY_NO_BROWSER =
  OWN !== undefined || HAS_PACKAGE
    ? undefined
    : 'no browser for this platform: name one in TOLLGATE_TEST_BROWSER';

/** For `describe`: with the reason in the name, a skip is seen. */
export function inBrowser(name: string): string {
  return WHY_NO_BROWSER === undefined ? name : `${name} (skipped: ${WHY_NO_BROWSER})`;
}

interface Unpacked {
  readonly executablePath: string;
  readonly environment: Readonly<Record<string, string>>;
}

/** Once for each version, into a place that is this project's own. */
async function unpack(): Promise<Unpacked> {
  const { version } = createRequire(import.meta.url)(
    join(PROJECT_ROOT, 'node_modules/@sparticuz/chromium/package.json'),
  );
  const folder = join(PROJECT_ROOT, 'node_modules', '.cache', `chromium-${version}`);
  if (!existsSync(folder)) {
    const making = `${folder}-${process.pid}`;
    await mkdir(making, { recursive: true });
    // In a process of its own: the package changes the environment of its importer. It brings its libraries only if it believes
    // to run in a certain cloud.
    const program = "import('@sparticuz/chromium').then((it) => it.default.executablePath())";
    await promisify(execFile)(process.execPath, ['-e', program], {
      cwd: PROJECT_ROOT,
      env: { ...environmentWithoutSettings(), TMPDIR: making, AWS_LAMBDA_JS_RUNTIME: 'nodejs20.x' },
    });
    // The package's own looks for them in the shared place.
    const fonts = `<fontconfig><dir>${folder}/fonts</dir><cachedir>${folder}/fonts-cache</cachedir></fontconfig>`;
    await writeFile(join(making, 'fonts.conf'), fonts);
    // Another worker may have been faster.
    await rename(making, folder).catch(() => rm(making, { recursive: true }));
  }
  return {
    executablePath: join(folder, 'chromium'),
    environment: {
      LD_LIBRARY_PATH: join(folder, 'al2023', 'lib'),
      FONTCONFIG_FILE: join(folder, 'fonts.conf'),
    },
  };
}

/** Ends with `close`. */
export async function startBrowser(): Promise<Browser> {
  const { executablePath, environment }: Unpacked =
    OWN === undefined ? await unpack() : { executablePath: OWN, environment: {} };
  return chromium.launch({
    executablePath,
    // Tests run as root in containers, where its sandbox cannot.
    args: ['--no-sandbox'],
    env: { ...environmentWithoutSettings(), ...environment } as Record<string, string>,
  });
}

export interface Screen {
  readonly width?: number;
  readonly height?: number;
  readonly scheme?: 'light' | 'dark';
}

/** A separate browser profile for a person, with animations off. */
export function newPerson(browser: Browser, { width = 1280, height = 900, scheme = 'light' }: Screen = {}) {
  return browser.newContext({
    locale: 'en-AU',
    viewport: { width, height },
    colorScheme: scheme,
    reducedMotion: 'reduce',
  });
}

export interface Seen {
  readonly page: Page;
  /** The browser's complaints: refused scripts or styles, uncaught errors. */
  readonly complaints: string[];
}

export async function openPage(person: BrowserContext): Promise<Seen> {
  const page = await person.newPage();
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(String(error)));
  page.on('console', (message) => {
    // Refusing answers are reported as errors, too; tests check those where they matter.
    if (message.type() === 'error' && !/Failed to load resource/.test(message.text()))
      complaints.push(message.text());
  });
  return { page, complaints };
}
