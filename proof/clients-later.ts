// A gateway of later days, as the versioning rules allow it: this one behind a relay that adds members and replaces values.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Json } from '../testkit/bodies.js';

const LATER_VALUE = 'later_value';
/** Texts to which new values may come; `type` and `CARD.TYPE` are card schemes. */
const OPEN_VALUES = [
  'transaction_status_code',
  'transaction_type',
  'directdebit_mode',
  'type',
  'CARD.TYPE',
  'error_code',
];

/** Listens until it is closed; answers what the gateway at `baseUrl` answers, made later. */
export async function startLaterGateway(baseUrl: string): Promise<{ baseUrl: string; close: () => void }> {
  const { origin, pathname } = new URL(baseUrl);
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const {
      connection,
      host,
      'content-length': length,
      'transfer-encoding': coding,
      ...headers
    } = request.headers;
    const answer = await fetch(origin + request.url, {
      method: request.method ?? 'GET',
      headers: headers as Record<string, string>,
      ...(chunks.length > 0 && { body: Buffer.concat(chunks) }),
    });
    const text = await answer.text();
    response.writeHead(answer.status, {
      'content-type': 'application/json; charset=utf-8',
      'x-correlation-id': answer.headers.get('x-correlation-id') ?? '',
      'x-later': 'yes',
    });
    response.end(text === '' ? undefined : JSON.stringify(later(JSON.parse(text))));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}${pathname}`,
    close: () => void server.close(),
  };
}

function later(value: Json, name = ''): Json {
  if (Array.isArray(value)) return value.map((each) => later(each));
  if (name === 'kvps') return { ...value, 'GATEWAY.RESPONSE.KVP.LATER': 'yes' };
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).map(([key, member]) => [key, later(member, key)]);
    return { later_member: { list: [1, null, 'two'] }, ...Object.fromEntries(members) };
  }
  if (name === 'gateway_status_code') return 77;
  return OPEN_VALUES.includes(name) ? LATER_VALUE : value;
}
