import net from 'node:net';
import { test } from 'vitest';
import { testGateway } from '../support/gateway.js';
import { paymentBody } from '../support/client.js';

test('scratch', async () => {
  const g = await testGateway();
  const { api } = g;
  const show = (name: string, a: any) => console.log(name, a.status, a.text.slice(0, 900), a.headers?.get?.('x-correlation-id') ?? '-', a.headers?.get?.('allow') ?? '');
  const tryit = async (name: string, f: () => Promise<any>) => { try { show(name, await f()); } catch (e) { console.log(name, 'THREW', String(e).slice(0, 400)); } };
  await tryit('empty obj', () => api.post('/transactions/purchase', {}));
  await tryit('many', () => api.post('/transactions/purchase', { merchant: { id: 'a' }, kvps: { 'é': 'é', b: 1, c: 'x'.repeat(1025), 'd/e': 'é', '4111111111111111': 'x', GG: '4111 1111 1111 1111' }, transaction: { reference: '', amount_details: { total_amount: 1, currency: 'aud' }, payment_method: { creditcard: { pan: '41', expiry_date: '0013', cvv: 'ab' } } } }, 'bad id'));
  await tryit('proto', () => api.call('/transactions/purchase', { raw: JSON.stringify(paymentBody()).replace('"transaction"', '"kvps":{"__proto__":"a","constructor":"b","toString":"c","1":"d"},"transaction"') }));
  await tryit('proto bad', () => api.call('/transactions/purchase', { raw: JSON.stringify(paymentBody()).replace('"transaction"', '"kvps":{"__proto__":1,"constructor":2},"transaction"') }));
  await tryit('body null', () => api.post('/transactions/purchase', null));
  await tryit('body []', () => api.post('/transactions/purchase', []));
  await tryit('nobody', () => api.call('/transactions/purchase', { method: 'POST' }));
  await tryit('emptybody', () => api.call('/transactions/purchase', { raw: '' }));
  await tryit('malformed', () => api.call('/transactions/purchase', { raw: '{' }));
  await tryit('deep', () => api.call('/transactions/purchase', { raw: '['.repeat(30000) + ']'.repeat(30000) }));
  await tryit('deepkvp', () => api.call('/transactions/purchase', { raw: JSON.stringify(paymentBody()).replace('"transaction"', `"kvps":{"a":${'['.repeat(30000) + ']'.repeat(30000)}},"transaction"`) }));
  await tryit('deepunk', () => api.call('/transactions/purchase', { raw: JSON.stringify(paymentBody()).replace('"transaction"', `"zzz":{"a":${'['.repeat(30000) + ']'.repeat(30000)}},"transaction"`) }));
  await tryit('big', () => api.call('/transactions/purchase', { raw: ' '.repeat(65537) }));
  await tryit('ctype', () => api.call('/transactions/purchase', { raw: '{}', headers: { 'content-type': 'text/plain' } }));
  await tryit('bom', () => api.call('/transactions/purchase', { raw: '\ufeff' + JSON.stringify(paymentBody()) }));
  for (const p of ['/transactions/0', '/transactions/2147483648', '/transactions/99999999999999999999', '/transactions/abc', '/transactions/1.5', '/transactions/-1', '/transactions/%00', '/transactions/%zz', '/transactions/%E0%A4%A', '/transactions/', '/transactions//', '/nowhere', '/transactions/1/nowhere', '/transactions/' + 'a'.repeat(10000), '/transactions?merchant_id=1&merchant_id=2', '/transactions', '/transactions/purchase'])
    await tryit(p.slice(0, 60), () => api.get(p));
  await tryit('nocorr', () => api.call('/transactions/purchase', { body: paymentBody(), correlationId: null }));
  await tryit('nocorrget', () => api.call('/transactions/1', { correlationId: null }));
  await tryit('emptycorrget', () => api.call('/transactions/1', { correlationId: '' }));
  await tryit('cardcorr', () => api.call('/transactions/1', { correlationId: '4111111111111111' }));
  for (const m of ['PUT', 'DELETE', 'PROPFIND', 'OPTIONS', 'PATCH', 'HEAD', 'SEARCH'])
    for (const p of ['/transactions/purchase', '/transactions/1', '/transactions/1/void', '/transactions', '/nowhere'])
      await tryit(m + p, () => api.call(p, { method: m }));
  const url = new URL(g.baseUrl);
  const raw = (bytes: string) => new Promise<string>((res) => { const s = net.connect(Number(url.port), url.hostname); let t = ''; s.on('data', (d) => { t += d; }); s.on('close', () => res(t)); s.on('error', () => res(t + ' [error]')); s.write(bytes); });
  console.log('trace', await raw('TRACE /v1/transactions/purchase HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'));
  console.log('garbage', await raw('\x00\x01garbage\r\n\r\n'));
  console.log('431', await raw(`GET /v1/transactions/1 HTTP/1.1\r\nHost: x\r\nX-A: ${'a'.repeat(20000)}\r\n\r\n`));
  console.log('badurl', await raw(`GET /v1/transactions/%zz?pan=4111111111111111 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`));
  console.log('nohost', await raw(`GET /v1/transactions/1 HTTP/1.1\r\n\r\n`));
  console.log('absolute', await raw(`GET http://evil/v1/transactions/1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`));
  console.log('star', await raw(`OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`));
  console.log('connect', await raw(`CONNECT a:1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`));
  console.log('upgrade', await raw(`GET /v1/transactions/1 HTTP/1.1\r\nHost: x\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\n\r\n`));
  console.log('expect', await raw(`POST /v1/transactions/purchase HTTP/1.1\r\nHost: x\r\nConnection: close\r\nExpect: something\r\nContent-Length: 0\r\n\r\n`));
  console.log('http/0.9', await raw(`GET /v1/transactions/1\r\n\r\n`));
  console.log(g.logged());
}, 60000);
