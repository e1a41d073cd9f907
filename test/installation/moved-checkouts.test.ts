// Checkouts move with their organisation: open ones are paid at the destination, and what has ended stays as it ended.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { CARD, createCheckout, DECLINED_CARD, Payer } from '../../testkit/payer.js';
import { twoCells } from '../../testkit/two-cells.js';

// catches(moving: a checkout that was changed does not become genuine)
test('an organisation moves → its checkouts go on where they were; one that somebody has changed stays broken', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tollgate-fleet-'));
  const fleetFile = join(folder, 'fleet.json');
  /** What the gateways know of the second cell. */
  const knowing = (more: object) => {
    const cell = { name: 'two', address: 'https://two.pay.example', gateways: ['127.0.0.1:1'], ...more };
    return writeFile(fleetFile, JSON.stringify({ cells: [cell] }));
  };
  await knowing({});
  const cells = await twoCells({ settings: { CHECKOUT_PORT: '0', FLEET_FILE: fleetFile } });
  const { one, two } = cells;
  try {
    const open = (await createCheckout(one.api)).body;
    const paid = (await createCheckout(one.api)).body;
    const tried = (await createCheckout(one.api)).body;
    const changed = (await createCheckout(one.api)).body;
    await new Payer(paid.url).pay(CARD);
    await new Payer(tried.url).pay(DECLINED_CARD);
    const brand = await cells.command('one', 'merchant', 'set', '1', '--display-name', 'Harbour');
    expect(brand.code, brand.stderr).toBe(0);
    await one.sql(`ALTER TABLE checkout DISABLE TRIGGER checkout_is_kept`);
    await one.sql(`UPDATE checkout SET terms = replace(terms::text, '1995', '1')::json WHERE id = $1`, [
      changed.id,
    ]);
    const refused = await cells.command('one', 'organisation', 'move', '1', '--to', 'two');
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining(`checkout/${changed.id}`)]);
    const moved = await cells.command(
      'one',
      'organisation',
      'move',
      '1',
      '--to',
      'two',
      '--even-broken',
      `checkout/${changed.id}`,
    );
    expect(moved.code, moved.stderr).toBe(0);
    const there = (url: string) =>
      new Payer(url.replace(one.checkoutUrl as string, two.checkoutUrl as string));
    const api = two.as(one.owner);
    expect((await api.get(`/checkouts/${paid.id}`)).body).toMatchObject({ status: 'complete' });
    expect((await there(paid.url).pay(CARD)).text).toContain('you have paid');
    const again = await there(tried.url).look();
    for (const shown of ['You can try 4 more times', 'Pay Harbour']) expect(again.text).toContain(shown);
    for (const { url } of [open, tried]) expect((await there(url).pay(CARD)).text).toContain('you have paid');
    expect((await there(changed.url).look()).status).toBe(503);
    expect((await new Payer(changed.url).look()).status).toBe(503);
    // At their old address payers are led on, and what they post is not sent along.
    const statusOf = async () => (await fetch(`${open.url}/status`)).json();
    expect(await statusOf()).toEqual({ status: 'moved' });
    const nowhere = await new Payer(open.url).look();
    expect([nowhere.status, nowhere.text]).toEqual([
      410,
      expect.stringContaining('Ask the shop for the new link'),
    ]);
    await knowing({ checkout: 'https://checkout.two.example' });
    for (const { id, url } of [open, paid]) {
      const { status, location } = await new Payer(url).look();
      expect([status, location]).toEqual([303, `https://checkout.two.example/${id}`]);
      const posted = await fetch(url, {
        method: 'POST',
        body: new URLSearchParams(CARD),
        redirect: 'manual',
      });
      expect([posted.status, posted.headers.get('location')]).toEqual([410, null]);
      expect(await posted.text()).toContain(`href="https://checkout.two.example/${id}"`);
    }
    const numbers = await two.sql<{ number: number }>(`SELECT number FROM checkout ORDER BY number`);
    const next = (await createCheckout(api)).body;
    expect(next.status).toBe('open');
    expect(new Set(numbers.map(({ number }) => number)).size).toBe(4);
  } finally {
    await cells.close();
    await rm(folder, { recursive: true });
  }
});
