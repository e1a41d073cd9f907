// What operators can do with users: `tollgate user`, and the same on the console.
import { duration, END_OF_PERIOD, FLAG, ID, type Kind, several, TEXT, TEXTS } from '../../tasks/kinds.js';
import { type Doing, needed, nullable, optional, task } from '../../tasks/task.js';
import { periodEnd } from '../../values/time.js';
import { fingerprintIn } from './client-certificate.js';
import type { CredentialKey } from './credentials.js';
import { isPermission, PERMISSIONS, type Permission } from './permissions.js';
import {
  addUser,
  grantMerchant,
  limitUser,
  listUsers,
  revokeUser,
  rotateSecret,
  type UserView,
  type UserWithSecret,
  ungrantMerchant,
} from './users.js';

const MOST_OVERLAP_MS = 30 * 86_400_000;
const USER = needed(TEXT, '<username>', 'the user', { names: 'users' });
const CALLING_FROM = 'networks that it may call from, with commas between';
const EXPIRING = 'the last day on which it can be used, in Sydney, or an instant';
const BINDING = 'a certificate that it must show, as a file or by its SHA-256 fingerprint (may be repeated)';
const ALLOWING = `what it may do, with commas between: ${PERMISSIONS.join(', ')}`;

const ALLOWED: Kind<Permission[]> = {
  read: (text) => {
    const names = TEXTS.read(text) ?? [];
    return names.every(isPermission) ? names : undefined;
  },
  mustBe: `It takes ${PERMISSIONS.join(', ')}.`,
  schema: { type: 'array', items: { enum: [...PERMISSIONS] }, maxItems: PERMISSIONS.length },
};

const EXPIRY: Kind<Date> = {
  read: (text) => validDate(periodEnd(text)),
  mustBe: END_OF_PERIOD,
  schema: TEXT.schema,
  fromJson: (text) => validDate(Date.parse(text)),
};

function validDate(ms = Number.NaN): Date | undefined {
  return Number.isNaN(ms) ? undefined : new Date(ms);
}

const CERTIFICATES = several<Buffer>({ read: fingerprintIn, mustBe: '', schema: {} });

type WithKey = Doing<{ key(): Promise<CredentialKey> }>;

export interface DemoFollowing {
  /** Before a user gets another secret: how to write that into the demo's file, if the file has the secret before. */
  demoFileToUpdate(username: string): Promise<((password: string) => Promise<string>) | undefined>;
}

export const USERS = {
  name: 'user',
  help: 'users are what a merchant’s backend server calls the API as',
  tasks: [
    task({
      name: 'user add',
      help: 'add a user and print its secret, once',
      role: 'administrator',
      scope: 'organisation',
      route: 'POST /users',
      fresh: true,
      input: {
        username: needed(TEXT, '<username>', 'what it calls itself in each request'),
        merchant: needed(ID, '--merchant <id>', 'the merchant that it is assigned to', {
          names: 'merchants',
        }),
        grants: optional(
          several(ID),
          '--grant <id>',
          'a further merchant of the same organisation (may be repeated)',
          { names: 'merchants' },
        ),
        allow: optional(ALLOWED, '--allow <list>', `${ALLOWING}; all of them if none is named`),
        fromAddresses: optional(TEXTS, '--from-address <list>', CALLING_FROM),
        expires: nullable(EXPIRY, '--expires <date>', EXPIRING),
        clientCertificates: optional(CERTIFICATES, '--client-certificate <file>', BINDING, {
          only: 'command',
        }),
      },
      run: async ({ database, actor, means }: WithKey, { username, ...wish }) =>
        addUser(database, actor, await means.key(), username, wish),
      says: (added) =>
        `User ${added.username} added. The secret is shown only now: ${added.password}${withoutReading(added)}`,
    }),
    task({
      name: 'user set',
      help: 'change what a user may do; known to every process within two seconds',
      role: 'administrator',
      scope: 'organisation',
      route: 'POST /users/:username',
      fresh: true,
      input: {
        username: USER,
        allow: optional(ALLOWED, '--allow <list>', `${ALLOWING}; in place of those before`),
        fromAddresses: nullable(TEXTS, '--from-address <list>', `${CALLING_FROM}; in place of those before`, {
          without: ['--no-from-address', 'it may call from everywhere from now on'],
        }),
        expires: nullable(EXPIRY, '--expires <date>', EXPIRING, {
          without: ['--no-expires', 'it does not expire any more'],
        }),
        clientCertificates: nullable(
          CERTIFICATES,
          '--client-certificate <file>',
          `${BINDING}; in place of those before`,
          { without: ['--no-client-certificate', 'the secret is enough from now on'], only: 'command' },
        ),
      },
      misfit: ({ username: _, ...limits }) =>
        Object.values(limits).every((limit) => limit === undefined)
          ? 'Name an --allow, a --from-address, an --expires or a --client-certificate, or the --no-… of one.'
          : undefined,
      run: async ({ database, actor, means }: WithKey, { username, ...limits }) =>
        limitUser(database, actor, await means.key(), username, limits),
      says: (user, { clientCertificates }) =>
        clientCertificates === undefined ? limitedInWords(user) : boundInWords(user),
    }),
    task({
      name: 'user list',
      help: 'list the users',
      role: 'viewer',
      scope: 'organisation',
      route: 'GET /users',
      fenced: true,
      input: {
        organisation: optional(ID, '--organisation <id>', 'only of this organisation', {
          names: 'organisations',
        }),
      },
      run: async ({ database, fence, means }: WithKey, { organisation }) =>
        listUsers(database, await means.key(), fence ?? organisation),
    }),
    task({
      name: 'user grant',
      help: 'let a user act for a further merchant',
      role: 'administrator',
      scope: 'organisation',
      route: 'POST /users/:username/grant',
      fresh: true,
      input: {
        username: USER,
        merchant: needed(ID, '<merchant>', 'a merchant of the same organisation', { names: 'merchants' }),
      },
      run: async ({ database, actor, means }: WithKey, { username, merchant }) =>
        grantMerchant(database, actor, await means.key(), username, merchant),
      says: (_, { username, merchant }) => `User ${username} may act for merchant ${merchant}.`,
    }),
    task({
      name: 'user ungrant',
      help: 'let a user no longer act for a merchant, within two seconds',
      role: 'administrator',
      scope: 'organisation',
      route: 'POST /users/:username/ungrant',
      fresh: true,
      input: {
        username: USER,
        merchant: needed(ID, '<merchant>', 'a merchant that it was granted', { names: 'merchants' }),
      },
      run: async ({ database, actor, means }: WithKey, { username, merchant }) =>
        ungrantMerchant(database, actor, await means.key(), username, merchant),
      says: (_, { username, merchant }) => `User ${username} may not act for merchant ${merchant} any more.`,
    }),
    task({
      name: 'user rotate',
      help: 'give a user a new secret and print it, once; the old one is refused within two seconds',
      role: 'administrator',
      scope: 'organisation',
      route: 'POST /users/:username/rotate',
      fresh: true,
      input: {
        username: USER,
        overlapMs: optional(
          duration(MOST_OVERLAP_MS),
          '--overlap [duration]',
          'for how long the old one works, too; 24h if none is named',
          { preset: '24h' },
        ),
        reseal: optional(
          FLAG,
          '--reseal',
          'also accept whatever the database says of the user; look at it first',
          { only: 'command' },
        ),
      },
      misfit: ({ overlapMs, reseal }) =>
        overlapMs !== undefined && reseal
          ? 'With --reseal the old secret is refused: leave out --overlap.'
          : undefined,
      run: async (
        { database, actor, means }: WithKey & Doing<DemoFollowing>,
        { username, ...rotation },
      ): Promise<UserWithSecret & { readonly demoFile?: string }> => {
        const follow = await means.demoFileToUpdate(username);
        const rotated = await rotateSecret(database, actor, await means.key(), username, rotation);
        const demoFile = await follow?.(rotated.password);
        return { ...rotated, ...(demoFile !== undefined && { demoFile }) };
      },
      says: ({ username, password, previous_secret_until: ends, demoFile }) =>
        [
          `The secret of ${username} is shown only now: ${password}`,
          ...(ends === null ? [] : [`The one before works until ${ends.toISOString()}.`]),
          ...(demoFile === undefined ? [] : [`It is in ${demoFile}, too.`]),
        ].join('\n'),
    }),
    task({
      name: 'user revoke',
      help: 'refuse a user for good, within two seconds',
      role: 'administrator',
      scope: 'organisation',
      route: 'POST /users/:username/revoke',
      fresh: true,
      input: { username: USER },
      run: async ({ database, actor, means }: WithKey, { username }) =>
        revokeUser(database, actor, await means.key(), username),
      says: ({ username }) => `User ${username} is revoked.`,
    }),
  ],
} as const;

/** A user that may not read cannot find out everything. */
function withoutReading({ allow }: UserView): string {
  const pays = allow.some((permission) => permission !== 'vault');
  return pays && !allow.includes('read')
    ? ' It may not read: after a lost answer it cannot find out what became of a payment.'
    : '';
}

function limitedInWords(user: UserView): string {
  const { username, allow, from_addresses: from, expires } = user;
  const until = expires === null ? 'for good' : `until ${expires.toISOString()}`;
  return `User ${username} may ${allow.join(', ')}, from ${from.join(', ') || 'everywhere'}, ${until}.${withoutReading(user)}`;
}

function boundInWords({ username, client_certificates: bound }: UserView): string {
  return bound.length === 0
    ? `User ${username} needs no certificate any more.`
    : `User ${username} must show one of ${bound.length}: ${bound.join(', ')}`;
}
