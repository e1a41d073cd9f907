// How a merchant looks on payers' pages: what operators set, what is refused, and what nobody changes in the database unnoticed.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { deflateSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { contrast } from '../../src/values/colour.js';
import { runHere } from '../../testkit/command-here.js';
import { commands, wordsOf } from '../../testkit/commands.js';
import { type ConsoleClient, signedIn, tokenFor } from '../../testkit/console.js';
import { expectEach } from '../../testkit/each-case.js';
import { type TestGateway, testGateway } from '../../testkit/gateway.js';
import { CARD, createCheckout, type PageSeen, Payer } from '../../testkit/payer.js';

let gateway: TestGateway;
let ada: ConsoleClient;
let token: string;
beforeAll(async () => {
  gateway = await testGateway({ settings: { CHECKOUT_PORT: '0' } });
  ada = await signedIn(gateway);
  token = await tokenFor(gateway, ada.name);
});
afterAll(() => gateway.close());

const run = (line: string) =>
  runHere(wordsOf(line), {
    DATABASE_URL: gateway.databaseUrl,
    TOLLGATE_DATA_DIR: gateway.dataDir,
    TOLLGATE_OPERATOR_TOKEN: token,
  });
const { text, json, refusal } = commands(run);

const svg = (content: string, more = '') =>
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"${more}>${content}</svg>`;
const LOGO = svg('<title>Harbour &amp; Sons</title><path fill="#0b5cad" d="M0 0h8v8z"/>');

async function file(name: string, content: string | Buffer): Promise<string> {
  const path = join(gateway.dataDir, name);
  await writeFile(path, content);
  return path;
}

function chunk(name: string, data: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  return Buffer.concat([length, Buffer.from(name, 'latin1'), data, Buffer.alloc(4)]);
}

/** One pixel, unless its header says otherwise. */
function png({ width = 1, chunks = [] as Buffer[], after = '' } = {}): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(1, 4);
  header[8] = 8;
  const data = chunk('IDAT', deflateSync(Buffer.from([0, 0])));
  const signature = Buffer.from('89504e470d0a1a0a', 'hex');
  return Buffer.concat([
    signature,
    chunk('IHDR', header),
    ...chunks,
    data,
    chunk('IEND', Buffer.alloc(0)),
    Buffer.from(after),
  ]);
}

async function look(merchant = 1): Promise<PageSeen & { readonly url: string }> {
  const { url } = (await createCheckout(gateway.api, {}, merchant)).body;
  return { ...(await new Payer(url).look()), url };
}

/** A page shows its merchant as it was a moment ago. */
async function pageSaying(words: string, merchant = 1): Promise<PageSeen & { readonly url: string }> {
  let page = await look(merchant);
  await expect
    .poll(async () => {
      page = await look(merchant);
      return page.text;
    })
    .toContain(words);
  return page;
}

function logoIn({ text: page, url }: { readonly text: string; readonly url: string }): string {
  const [, src = ''] = /<img class="logo" src="([^"]+)" alt="">/.exec(page) ?? [];
  return new URL(src, url).href;
}

describe('what operators set', () => {
  test('name, colour and logo → on the page, also after paying; taken away → the page is as before', async () => {
    const path = await file('logo.svg', LOGO);
    const line = `merchant set 1 --display-name 'Harbour & Söhne' --colour #FFD400 --logo ${path}`;
    expect(await text(line)).toContain('so that it can be read');
    const page = await pageSaying('Pay Harbour');
    expect(page.text).toContain('Pay Harbour &amp; Söhne');
    expect(page.text).toContain('<link rel="stylesheet" href="/colour-ffd400.css">');
    const logo = await fetch(logoIn(page));
    expect([logo.status, await logo.text()]).toEqual([200, LOGO]);
    const paid = await new Payer(page.url).pay(CARD);
    expect(paid.text).toContain('to Harbour &amp; Söhne.');
    expect((await json('merchant list')).find(({ id }: { id: number }) => id === 1)).toMatchObject({
      name: 'Ours',
      display_name: 'Harbour & Söhne',
      colour: '#ffd400',
      logo_bytes: Buffer.byteLength(LOGO),
    });
    const entries = await gateway.sql(`SELECT detail FROM journal WHERE action = 'merchant.brand_changed'`);
    expect(entries).toEqual([
      { detail: expect.stringMatching(/^shown as Harbour & Söhne, #ffd400, logo of \d+ bytes, SHA-256 /) },
    ]);
    await text('merchant set 1 --no-display-name --no-colour --remove-logo');
    const after = await pageSaying('Pay Ours');
    expect(after.text).not.toMatch(/class="logo"|colour-/);
    expect((await fetch(logoIn(page))).status).toBe(404);
  });

  test('the console → the same; a viewer and somebody of another organisation change nothing', async () => {
    const set = await ada.post('/merchants/2', { display_name: 'Second', colour: '#0b5cad' });
    expect(set.body).toMatchObject({ id: 2, display_name: 'Second', colour: '#0b5cad' });
    expect((await ada.post('/merchants/2/logo', new Uint8Array(png()))).body).toMatchObject({
      display_name: 'Second',
      logo_bytes: png().length,
    });
    const page = await pageSaying('class="logo"', 2);
    expect((await fetch(logoIn(page))).headers.get('content-type')).toBe('image/png');
    const viewer = await signedIn(gateway, { role: 'operator' });
    const foreign = await signedIn(gateway, { organisation: 2 });
    expect((await viewer.post('/merchants/2/logo', new Uint8Array(png()))).status).toBe(403);
    expect((await viewer.post('/merchants/2', { display_name: 'Mine' })).status).toBe(403);
    expect((await foreign.post('/merchants/2/logo', new Uint8Array(png()))).status).toBe(404);
    expect((await foreign.post('/merchants/2', { display_name: 'Mine' })).status).toBe(404);
    const removed = (await ada.post('/merchants/2', { remove_logo: true })).body;
    expect(removed).toMatchObject({ display_name: 'Second' });
    expect(removed).not.toHaveProperty('logo_bytes');
    expect((await look(2)).text).toContain('Pay Second');
  });

  test('a colour → text of it and on it can be read, on light pages and on dark ones', async () => {
    const grounds = { light: '#ffffff', dark: '#16191d' };
    await expectEach(
      ['#ffffff', '#000000', '#ffd400', '#0b5cad', '#808080', '#ff0000', '#16191d'].map((colour) => [colour]),
      async ([colour = '']) => {
        const sheet = await fetch(`${gateway.checkoutUrl}/colour-${colour.slice(1)}.css`);
        expect(sheet.headers.get('content-type')).toBe('text/css; charset=utf-8');
        const found = [...(await sheet.text()).matchAll(/: (#[0-9a-f]{6});/g)].map(([, one = '']) => one);
        const [light = '', onLight = '', dark = '', onDark = ''] = found;
        for (const [one, other] of [
          [light, grounds.light],
          [dark, grounds.dark],
          [light, onLight],
          [dark, onDark],
        ] as const)
          expect(contrast(one, other)).toBeGreaterThanOrEqual(4.5);
      },
    );
    expect((await fetch(`${gateway.checkoutUrl}/colour-red.css`)).status).toBe(404);
  });

  // catches(checkout: a logo runs no script, also when it is opened by itself)
  test('a logo that is opened by itself → runs nothing, and no other page shows it', async () => {
    await ada.post('/merchants/1/logo', new TextEncoder().encode(LOGO));
    const { headers } = await fetch(logoIn(await pageSaying('class="logo"')));
    expect(Object.fromEntries(headers)).toMatchObject({
      'content-type': 'image/svg+xml',
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; sandbox; frame-ancestors 'none'",
      'cross-origin-resource-policy': 'same-origin',
      'referrer-policy': 'no-referrer',
    });
  });
});

describe('what is refused', () => {
  // catches(logo: an SVG has no element that could run or fetch anything)
  // catches(logo: an SVG has no attribute that could run or fetch anything)
  test('an SVG that could do more than be drawn, or a picture that is none → with what was found', async () => {
    await expectEach(
      [
        [svg('<script>alert(1)</script>'), 'the element <script>'],
        [svg('<style>*{}</style>'), 'the element <style>'],
        [svg('<foreignObject/>'), 'the element <foreignObject>'],
        [svg('<image href="https://x.example/a.png"/>'), 'the element <image>'],
        [svg('<use href="#a"/>'), 'the element <use>'],
        [svg('<animate attributeName="href" to="javascript:alert(1)"/>'), 'the element <animate>'],
        [svg('<a href="javascript:alert(1)"/>'), 'the element <a>'],
        [svg('<SCRIPT/>'), 'the element <SCRIPT>'],
        [svg('<svg:script/>'), 'the element <svg:script>'],
        [svg('<g onclick="alert(1)"/>'), 'the attribute onclick at <g>'],
        [svg('', ' onload="alert(1)"'), 'the attribute onload at <svg>'],
        [svg('<g style="fill:url(https://x.example)"/>'), 'the attribute style at <g>'],
        [svg('<path fill="url(https://x.example/a)"/>'), 'fill="url(https://x.example/a)" at <path>'],
        [svg('<path fill="u\\72l(https://x.example)"/>'), 'at <path>'],
        [svg('<path fill="&#117;rl(https://x.example)"/>'), 'at <path>'],
        [svg('<path clip-path="image(https://x.example)"/>'), 'clip-path='],
        [svg('<linearGradient href="https://x.example/#a"/>'), 'at <linearGradient>'],
        [svg('<g xmlns="http://www.w3.org/1999/xhtml"/>'), 'xmlns='],
        [svg('text'), 'text outside <title>'],
        [svg('<title>&own;</title>'), 'an entity of its own'],
        [svg('<g>'), 'closes nothing'],
        [svg('<![CDATA[<script/>]]>'), 'not allowed: <![CDATA['],
        [svg('<g id="a" id="b"/>'), 'the attribute id twice'],
        [`<!DOCTYPE svg [<!ENTITY a "b">]>${LOGO}`, 'not allowed: <!DOCTYPE'],
        [`<?xml-stylesheet href="x.css"?>${LOGO}`, 'not allowed: <?xml-stylesheet'],
        [`${LOGO}<svg/>`, 'a second <svg>'],
        [`${LOGO}<g/>`, 'a second <g>'],
        ['<svg viewBox="0 0 8 8"></svg>', 'does not say xmlns'],
        ['<html></html>', 'neither a PNG nor an SVG'],
        ['GIF89a', 'neither a PNG nor an SVG'],
        [Buffer.from([0xff, 0xfe, 0x3c]), 'neither a PNG nor an SVG in UTF-8'],
        [png({ width: 20_000 }), '20000 × 1 pixels'],
        [png({ chunks: [chunk('acTL', Buffer.alloc(8))] }), 'is animated'],
        [png({ after: '<script>' }), 'goes on behind the end'],
        [png().subarray(0, 40), 'ends too early'],
      ] as const,
      async ([content, found]) => {
        const answer = await ada.post('/merchants/3/logo', new Uint8Array(Buffer.from(content)));
        expect([answer.status, answer.body.error_code]).toEqual([422, 'brand_not_allowed']);
        expect(answer.body.error_message).toContain(found);
      },
    );
    expect((await look(3)).text).not.toContain('class="logo"');
  });

  test('what programs write who draw → taken', async () => {
    await expectEach(
      [
        [`<?xml version="1.0" encoding="UTF-8"?>\n<!-- drawn -->\n${LOGO}\n`],
        [
          svg(
            '<defs><linearGradient id="a"><stop offset="0" stop-color="rgb(1, 2, 3)"/></linearGradient><linearGradient id="b" xlink:href="#a"/></defs><g fill="url(#b)" transform="translate(1 2) rotate(45)"><circle r="1"/></g>',
            ' xmlns:xlink="http://www.w3.org/1999/xlink"',
          ),
        ],
      ],
      async ([content]) => {
        const answer = await ada.post('/merchants/3/logo', new TextEncoder().encode(content));
        expect([answer.status, answer.text.slice(0, 120)]).toMatchObject([200, expect.any(String)]);
      },
    );
    await ada.post('/merchants/3', { remove_logo: true });
  });

  test('a name or colour that is none, and a file that is not there or too large → by the command, with what is wrong', async () => {
    const large = await file('large.svg', svg(' '.repeat(65_536)));
    for (const [line, sentence] of [
      [`--display-name 'Evil \u202egnp'`, '--display-name takes 1 to 60 characters'],
      ['--display-name 4111111111111111', 'no card number'],
      ['--colour red', '--colour must be written like #0b5cad'],
      [`--logo ${large}`, '--logo has more than 64 kB'],
      ['--logo /nowhere/at/all.png', '/nowhere/at/all.png'],
    ] as const)
      expect(await refusal(`merchant set 1 ${line}`)).toContain(sentence);
    expect((await ada.post('/merchants/1/logo', new Uint8Array(70_000))).status).toBe(413);
  });
});

describe('somebody who writes to the database', () => {
  // catches(checkout: no brand is shown that is not as it was sealed)
  // catches(checkout: no logo is served that is not as it was sealed)
  // catches(directions: a brand is sealed with its name and its logo)
  test('changes, inserts, replaces or removes a brand → payers do not see it, and everybody is told', async () => {
    await text('merchant set 3 --display-name Genuine');
    await ada.post('/merchants/3/logo', new TextEncoder().encode(LOGO));
    const page = await pageSaying('class="logo"', 3);
    const other = svg('<path d="M0 0h1z"/>');
    const problems = async () =>
      JSON.parse((await run('keys verify --json')).stdout).problems.map(
        ({ where, problem }: { where: string; problem: string }) => [where, problem],
      );
    const restore = await gateway.sql(`SELECT display_name, logo FROM merchant_brand WHERE merchant_id = 3`);
    for (const change of [
      `display_name = 'Forged'`,
      `logo = convert_to('${other}', 'UTF8')`,
      'logo = NULL',
      `colour = '#ff0000'`,
    ]) {
      await gateway.sqlAs('tollgate_operator', `UPDATE merchant_brand SET ${change} WHERE merchant_id = 3`);
      const now = await pageSaying('Pay Ours', 3);
      expect(now.text).not.toMatch(/Forged|class="logo"|colour-/);
      expect((await fetch(logoIn(page))).status).toBe(404);
      expect(await problems()).toEqual([['brand/3', 'changed']]);
      expect(await refusal('merchant set 3 --colour #0b5cad')).toContain('brand/3 is not as it was sealed');
      await gateway.sql(
        `UPDATE merchant_brand SET display_name = $1, logo = $2, colour = NULL WHERE merchant_id = 3`,
        [restore[0]?.display_name, restore[0]?.logo],
      );
      await pageSaying('Pay Genuine', 3);
    }
    expect(gateway.logged()).toContain('"subject":"brand/3","problem":"changed"');
    await gateway.sqlAs('tollgate_operator', 'DELETE FROM merchant_brand WHERE merchant_id = 3');
    await pageSaying('Pay Ours', 3);
    expect(await problems()).toEqual([['brand/3', 'is gone']]);
    await gateway.sql(
      `INSERT INTO merchant_brand (organisation_id, merchant_id, display_name, logo) SELECT organisation_id, id, $1, $2 FROM merchant WHERE id = 3`,
      [restore[0]?.display_name, restore[0]?.logo],
    );
    expect(await problems()).toEqual([]);
    await text('merchant set 3 --no-display-name --remove-logo');
    await gateway.sqlAs(
      'tollgate_operator',
      `INSERT INTO merchant_brand (organisation_id, merchant_id, display_name) SELECT organisation_id, id, 'Forged' FROM merchant WHERE id = 3`,
    );
    await pageSaying('Pay Ours', 3);
    expect(await problems()).toEqual([['brand/3', 'removed, and is back']]);
    await gateway.sql('DELETE FROM merchant_brand WHERE merchant_id = 3');
    await expect(
      gateway.sqlAs('tollgate_application', `UPDATE merchant_brand SET display_name = 'x'`),
    ).rejects.toMatchObject({ code: '42501' });
  });
});
