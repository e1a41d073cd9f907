// `tollgate user`: users are what a merchant's backend server calls the API as.
import { readFile } from 'node:fs/promises';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { demoFileToUpdate } from '../../demo/demo.js';
import { readSettings } from '../../gateway/settings/settings.js';
import {
  readClientCertificate,
  readFingerprint,
  type ShownCertificate,
} from '../../organisations/users/client-certificate.js';
import { isPermission, PERMISSIONS, type Permission } from '../../organisations/users/permissions.js';
import {
  addUser,
  grantMerchant,
  limitUser,
  listUsers,
  MOST_OVERLAP_MS,
  revokeUser,
  rotateSecret,
  type UserView,
  ungrantMerchant,
} from '../../organisations/users/users.js';
import { refuse } from '../../values/refusal.js';
import { unreadable } from '../../values/whole-file.js';
import { duration, id, ids, texts, until } from '../arguments.js';
import { repeatable } from '../contradictions.js';
import { operateUsers } from '../operator.js';
import { printing } from '../output.js';

const BINDING = 'a certificate that it must show, as a file or by its SHA-256 fingerprint (may be repeated)';
const ALLOWING = `what it may do, with commas between: ${PERMISSIONS.join(', ')}`;
const CALLING_FROM = 'networks that it may call from, with commas between';
const EXPIRING = 'the last day on which it can be used, in Sydney, or an instant';
const DEFAULT_OVERLAP_MS = 86_400_000;

/** Where each is a file of a certificate, or a fingerprint. */
async function fingerprintsOf(given: readonly string[] = []): Promise<Buffer[]> {
  return Promise.all(
    given.map(async (path) => readFingerprint(path) ?? (await certificateIn(path)).fingerprint),
  );
}

async function certificateIn(path: string): Promise<ShownCertificate> {
  const content = await readFile(path).catch(unreadable(path));
  const certificate = readClientCertificate(content) ?? refuse('client_certificate_unreadable', { path });
  if (certificate.expiresAtMs <= Date.now()) {
    const expired = new Date(certificate.expiresAtMs).toISOString();
    refuse('client_certificate_expired', { path, expired });
  }
  return certificate;
}

function permissions(text: string): Permission[] {
  return list(text).map((name) => {
    if (isPermission(name)) return name;
    throw new InvalidArgumentError(`It takes ${PERMISSIONS.join(', ')}.`);
  });
}

function list(text: string): string[] {
  return text.split(',').map((part) => part.trim());
}

function overlap(text: string): number {
  const ms = duration(text);
  if (ms > MOST_OVERLAP_MS) throw new InvalidArgumentError('It must be 30d at most.');
  return ms;
}

/** What a user that may not read cannot find out. */
function withoutReading({ allow }: UserView): string {
  const pays = allow.some((permission) => permission !== 'vault');
  return pays && !allow.includes('read')
    ? ' It may not read: after a lost answer it cannot find out what became of a payment.'
    : '';
}

interface GivenLimits {
  readonly allow?: Permission[];
  readonly fromAddress?: string[];
  readonly expires?: number | false;
  readonly clientCertificate?: string[] | false;
}

export function addUserCommands(program: Command): void {
  const user = program
    .command('user')
    .description('users are what a merchant’s backend server calls the API as');
  printing(
    user
      .command('add')
      .argument('<username>', 'what it calls itself in each request')
      .description('add a user and print its secret, once')
      .requiredOption('--merchant <id>', 'the merchant that it is assigned to', id)
      .addOption(
        repeatable(
          new Option('--grant <id>', 'a further merchant of the same organisation (may be repeated)'),
        ).argParser(ids),
      )
      .option('--allow <list>', `${ALLOWING}; all of them if none is named`, permissions)
      .option('--from-address <list>', CALLING_FROM, list)
      .option('--expires <date>', EXPIRING, until)
      .addOption(repeatable(new Option('--client-certificate <file>', BINDING)).argParser(texts)),
    async (username: string, { merchant, grant: grants, allow, fromAddress, expires, clientCertificate }) => {
      const clientCertificates = clientCertificate && (await fingerprintsOf(clientCertificate));
      const limits = { allow, fromAddresses: fromAddress, expiresMs: expires, clientCertificates };
      const added = await operateUsers((database, operator, key) =>
        addUser(database, operator, key, username, { merchant, grants, ...limits }),
      );
      const sentence = `User ${username} added. The secret is shown only now: ${added.password}`;
      return { value: added, sentence: sentence + withoutReading(added) };
    },
  );
  printing(
    user
      .command('set')
      .argument('<username>', 'the user')
      .description('change what a user may do; known to every process within two seconds')
      .option('--allow <list>', `${ALLOWING}; in place of those before`, permissions)
      .option('--from-address <list>', `${CALLING_FROM}; in place of those before`, list)
      .option('--no-from-address', 'it may call from everywhere from now on')
      .option('--expires <date>', EXPIRING, until)
      .option('--no-expires', 'it does not expire any more')
      .addOption(
        repeatable(
          new Option('--client-certificate <file>', `${BINDING}; in place of those before`),
        ).argParser(texts),
      )
      .option('--no-client-certificate', 'the secret is enough from now on'),
    async (username: string, given: GivenLimits, command: Command) => {
      // Commander sets an option to true where `--no-…` exists and neither was given.
      const isGiven = (name: string) => command.getOptionValueSource(name) === 'cli';
      const limits = {
        ...(isGiven('allow') && { allow: given.allow }),
        ...(isGiven('fromAddress') && { fromAddresses: given.fromAddress || [] }),
        ...(isGiven('expires') && { expiresMs: given.expires || null }),
        ...(isGiven('clientCertificate') && {
          clientCertificates: await fingerprintsOf(given.clientCertificate || []),
        }),
      };
      if (Object.keys(limits).length === 0)
        throw new InvalidArgumentError(
          'Name an --allow, a --from-address, an --expires or a --client-certificate, or the --no-… of one.',
        );
      const changed = await operateUsers((database, operator, key) =>
        limitUser(database, operator, key, username, limits),
      );
      return { value: changed, sentence: inWords(changed, isGiven('clientCertificate')) };
    },
  );
  printing(
    user
      .command('list')
      .description('list the users')
      .option('--organisation <id>', 'only of this organisation', id),
    async ({ organisation }: { organisation?: number }) => ({
      rows: await operateUsers((database, _, key) => listUsers(database, key, organisation)),
    }),
  );
  printing(
    user
      .command('grant')
      .argument('<username>', 'the user')
      .argument('<merchant>', 'a merchant of the same organisation', id)
      .description('let a user act for a further merchant'),
    async (username: string, merchant: number) => {
      const granted = await operateUsers((database, operator, key) =>
        grantMerchant(database, operator, key, username, merchant),
      );
      return { value: granted, sentence: `User ${username} may act for merchant ${merchant}.` };
    },
  );
  printing(
    user
      .command('ungrant')
      .argument('<username>', 'the user')
      .argument('<merchant>', 'a merchant that it was granted', id)
      .description('let a user no longer act for a merchant, within two seconds'),
    async (username: string, merchant: number) => {
      const changed = await operateUsers((database, operator, key) =>
        ungrantMerchant(database, operator, key, username, merchant),
      );
      return { value: changed, sentence: `User ${username} may not act for merchant ${merchant} any more.` };
    },
  );
  printing(
    user
      .command('rotate')
      .argument('<username>', 'the user')
      .description('give a user a new secret and print it, once; the old one is refused within two seconds')
      .option('--overlap [duration]', 'for how long the old one works, too; 24h if none is named', overlap)
      .option('--reseal', 'also accept whatever the database says of the user; look at it first'),
    async (username: string, { overlap: wish, reseal }: { overlap?: number | true; reseal?: true }) => {
      if (wish !== undefined && reseal) {
        throw new InvalidArgumentError('With --reseal the old secret is refused: leave out --overlap.');
      }
      const overlapMs = wish === true ? DEFAULT_OVERLAP_MS : wish;
      const { dataDir } = readSettings();
      return operateUsers(async (database, operator, key) => {
        const follow = await demoFileToUpdate(database, key, dataDir, username);
        const rotated = await rotateSecret(database, operator, key, username, { overlapMs, reseal });
        const file = await follow?.(rotated.password);
        const ends = rotated.previous_secret_until;
        const sentences = [
          `The secret of ${username} is shown only now: ${rotated.password}`,
          ...(ends === null ? [] : [`The one before works until ${ends.toISOString()}.`]),
          ...(file === undefined ? [] : [`It is in ${file}, too.`]),
        ];
        return { value: rotated, sentence: sentences.join('\n') };
      });
    },
  );
  printing(
    user
      .command('revoke')
      .argument('<username>', 'the user')
      .description('refuse a user for good, within two seconds'),
    async (username: string) => {
      const revoked = await operateUsers((database, operator, key) =>
        revokeUser(database, operator, key, username),
      );
      return { value: revoked, sentence: `User ${username} is revoked.` };
    },
  );
}

function inWords(user: UserView, aboutCertificates: boolean): string {
  const { username, allow, from_addresses: from, expires, client_certificates: bound } = user;
  if (aboutCertificates) {
    return bound.length === 0
      ? `User ${username} needs no certificate any more.`
      : `User ${username} must show one of ${bound.length}: ${bound.join(', ')}`;
  }
  const until = expires === null ? 'for good' : `until ${expires.toISOString()}`;
  return `User ${username} may ${allow.join(', ')}, from ${from.join(', ') || 'everywhere'}, ${until}.${withoutReading(user)}`;
}
