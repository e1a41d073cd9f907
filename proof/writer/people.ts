// Operators of the console with passkeys: an administrator, a viewer, and one who was removed. Tries what the last two must not be able to do.
import { readSettings } from '../../src/gateway/settings/settings.js';
import { addOperator, removeOperator } from '../../src/operators/operators.js';
import { Database } from '../../src/postgres/database.js';
import type { OperatorRole } from '../../src/tasks/task.js';
import { credentialKeyOf } from '../../testkit/cast.js';
import { callOverHttp, type HttpAnswer } from '../../testkit/http-call.js';
import { type PasskeyDevice, passkeyDevice } from '../../testkit/passkey-device.js';
import { asEnvironment } from '../../testkit/project.js';

const ROLES: Readonly<Record<string, OperatorRole>> = {
  administrator: 'administrator',
  viewer: 'viewer',
  removed: 'administrator',
};
const LET_IN = [200, 204];

interface Person {
  readonly device: PasskeyDevice;
  /** Of a session. */
  readonly cookie: string;
}

export class People {
  private constructor(
    private readonly url: string,
    private readonly people: ReadonlyMap<string, Person>,
  ) {}

  /** `beforeRemoval` is called while all three may sign in. */
  static async enrolled(
    {
      port,
      dataDir,
      operatingUrl,
    }: { readonly port: number; readonly dataDir: string; readonly operatingUrl: string },
    beforeRemoval: () => Promise<void>,
  ): Promise<People> {
    // Passkeys belong to a name, and not to an address.
    const url = `http://localhost:${port}`;
    const people = new Map<string, Person>();
    const database = new Database(operatingUrl, { maxConnections: 1 });
    try {
      const key = await credentialKeyOf(database, readSettings(asEnvironment({ DATA_DIR: dataDir })));
      for (const [name, role] of Object.entries(ROLES)) {
        const { link } = await addOperator(database, 'operator:proof', key, url, name, { role });
        people.set(name, await enrol(url, link));
      }
      await beforeRemoval();
      await removeOperator(database, 'operator:proof', key, 'removed');
    } finally {
      await database.close();
    }
    return new People(url, people);
  }

  /** What succeeded of what must not. */
  async gained(): Promise<string[]> {
    const removed = this.people.get('removed') as Person;
    const viewer = this.people.get('viewer') as Person;
    const attempts: [string, Promise<number>][] = [
      ['a removed operator signs in', signIn(this.url, removed.device)],
      ['the session of a removed operator goes on', statusOf(this.url, 'GET', '/session', removed.cookie)],
      [
        'a viewer sees what administrators see',
        statusOf(this.url, 'GET', '/operators/administrator/sessions', viewer.cookie),
      ],
    ];
    const gained: string[] = [];
    for (const [what, attempt] of attempts) if (LET_IN.includes(await attempt)) gained.push(what);
    return gained;
  }

  /** Refused attempts show nothing unless the same requests succeed for the administrator. */
  async unable(): Promise<string[]> {
    const { device, cookie } = this.people.get('administrator') as Person;
    const statuses = [
      await signIn(this.url, device),
      await statusOf(this.url, 'GET', '/operators/administrator/sessions', cookie),
      await statusOf(this.url, 'GET', '/session', (this.people.get('viewer') as Person).cookie),
    ];
    return statuses.every((status) => LET_IN.includes(status))
      ? []
      : [`operators are answered ${statuses.join(', ')}`];
  }
}

async function enrol(url: string, link: string): Promise<Person> {
  const [name = '', token = ''] = new URL(link).hash.slice(1).split(':');
  const opened = await ask(url, 'POST', '/sign-in/link', { body: { name: decodeURIComponent(name), token } });
  const enrolling = cookiesOf(opened);
  const options = await ask(url, 'POST', '/enrol/passkey/options', { cookie: enrolling });
  if (options.status !== 200) throw new Error(`${name} cannot enrol: ${options.status} ${options.text}`);
  const device = passkeyDevice();
  const response = device.create(JSON.parse(options.text), url);
  const enrolled = await ask(url, 'POST', '/enrol/passkey', {
    cookie: enrolling,
    body: { label: 'a device', response },
  });
  if (!LET_IN.includes(enrolled.status))
    throw new Error(`${name} cannot enrol: ${enrolled.status} ${enrolled.text}`);
  return { device, cookie: cookiesOf(enrolled) || enrolling };
}

async function signIn(url: string, device: PasskeyDevice): Promise<number> {
  const options = await ask(url, 'POST', '/sign-in/passkey/options');
  if (options.status !== 200) return options.status;
  const response = device.get(JSON.parse(options.text), url);
  return (await ask(url, 'POST', '/sign-in/passkey', { body: { response } })).status;
}

async function statusOf(url: string, method: string, path: string, cookie: string): Promise<number> {
  return (await ask(url, method, path, { cookie })).status;
}

function ask(
  url: string,
  method: string,
  path: string,
  { cookie = '', body = {} }: { readonly cookie?: string; readonly body?: object } = {},
): Promise<HttpAnswer> {
  return callOverHttp(`${url}/console/api${path}`, {
    method,
    headers: { origin: url, 'content-type': 'application/json', ...(cookie !== '' && { cookie }) },
    ...(method !== 'GET' && { body: JSON.stringify(body) }),
  });
}

function cookiesOf({ headers }: HttpAnswer): string {
  return headers
    .getSetCookie()
    .map((set) => set.split(';', 1)[0])
    .join('; ');
}
