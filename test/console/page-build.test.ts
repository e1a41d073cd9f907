// The operators' page as the build makes it: small, compressed, with names that change with what is in them, and nothing inline.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { PROJECT_ROOT } from '../../testkit/project.js';
import { expectNone } from '../../testkit/project-files.js';

const PAGE = join(PROJECT_ROOT, 'dist', 'console');
const ASSETS = join(PAGE, 'assets');
const MOST_BYTES = 300_000;

const assets = readdirSync(ASSETS).filter((name) => /\.(js|css)$/.test(name));

test('all of it together takes less than 300 kB compressed', () => {
  const bytes = assets.map((name) => statSync(join(ASSETS, `${name}.gz`)).size);
  expect(bytes.reduce((sum, size) => sum + size, 0)).toBeLessThan(MOST_BYTES);
});

test('each file has a hash in its name, and its compressed forms beside it', () => {
  expectNone(
    assets.filter((name) => !/-[A-Z0-9]{8}\.(js|css)$/.test(name)),
    'Names come from esbuild: entryNames and chunkNames in console/esbuild.config.js.',
  );
  for (const name of assets) {
    const content = readFileSync(join(ASSETS, name));
    expect(gunzipSync(readFileSync(join(ASSETS, `${name}.gz`))).equals(content)).toBe(true);
    expect(brotliDecompressSync(readFileSync(join(ASSETS, `${name}.br`))).equals(content)).toBe(true);
  }
});

test('index.html has no inline script or style, refers to existing files only, and to no foreign host', () => {
  const html = readFileSync(join(PAGE, 'index.html'), 'utf8');
  expect(html).not.toMatch(/<style|<script>|<script(?![^>]* src=)|\son\w+=|style=/);
  const named = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, address]) => address as string);
  const files = named.filter((address) => !address.startsWith('data:'));
  expect(files.length).toBeGreaterThanOrEqual(3);
  expectNone(
    files.filter((address) => !existsSync(join(PAGE, address))),
    'The template names what the build has made.',
  );
});
