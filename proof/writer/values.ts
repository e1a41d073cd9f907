// Values that an intruder would try in a column, by its name or by its type.
import type { Chance } from '../../testkit/chance.js';
import type { Column } from './rows.js';
import type { Thief } from './thief.js';

const YEAR_MS = 366 * 86_400_000;

/** What an intruder would gain from. A column name means the same in every table. */
function wantedOf(name: string, thief: Thief): readonly unknown[] {
  switch (name) {
    case 'host':
      return ['127.0.0.1'];
    case 'port':
      return [thief.port];
    case 'url':
      return [thief.url];
    case 'tls':
      return [false];
    case 'acquirer':
      return ['host', 'spare', 'mine', 'simulator'];
    case 'role':
      return ['administrator'];
    case 'permissions':
      return [['read', 'payments', 'refunds', 'standalone-refunds', 'vault']];
    case 'status':
      return ['approved', 'declined', 'unknown', 'voided', 'pending', 'error'];
    case 'gateway_status_code':
      return [0, -99];
    case 'reversing':
    case 'unseen':
      return [true];
    case 'state':
      return ['approved', 'ready', 'waiting', 'cleared'];
    case 'refunded_cents':
    case 'completed_cents':
      return [0];
    case 'removed_at':
    case 'revoked_at':
    case 'mac_keys':
    case 'key_encryption_key':
    case 'disabled_at':
      return [null];
    default:
      return [];
  }
}

/** Something else than the present value. `others` are those of other rows. */
export function hostileValue(
  { name, type }: Column,
  present: unknown,
  {
    chance,
    thief,
    others,
  }: { readonly chance: Chance; readonly thief: Thief; readonly others: readonly unknown[] },
): unknown {
  const isNew = (value: unknown) => JSON.stringify(value) !== JSON.stringify(present);
  const wanted = wantedOf(name, thief).filter(isNew);
  if (wanted.length > 0 && chance.percent(60)) return chance.pick(wanted);
  const strange = others.filter(isNew);
  if (strange.length > 0 && chance.percent(50)) return chance.pick(strange);
  return chance.pick([...ofType(type, present, chance), null].filter(isNew));
}

function ofType(type: string, present: unknown, chance: Chance): readonly unknown[] {
  if (type.endsWith('[]')) return [[], Array.isArray(present) ? present.slice(1) : []];
  const number = Number(present ?? 0);
  switch (type) {
    case 'boolean':
      return [present !== true];
    case 'smallint':
      return [0, 1, -1, number + 1, 32_767];
    case 'integer':
    case 'bigint':
      return [0, 1, -1, number + 1, number - 1, number * 100, 2_147_483_647];
    case 'timestamp with time zone':
      return [
        '-infinity',
        'infinity',
        new Date(Date.now() - YEAR_MS).toISOString(),
        new Date(Date.now() + YEAR_MS).toISOString(),
      ];
    case 'date':
      return ['2001-01-01', new Date(Date.now() + YEAR_MS).toISOString().slice(0, 10)];
    case 'bytea':
      return [
        '\\x',
        `\\x${Buffer.from(chance.bytes(48), 'latin1').toString('hex')}`,
        flipped(String(present ?? '\\x00')),
      ];
    case 'json':
    case 'jsonb':
      return [{}, [], { mine: true }];
    case 'uuid':
      return ['00000000-0000-4000-8000-000000000000'];
    case 'pg_snapshot':
      return ['1:1:'];
    case 'xid8':
      return ['3', '999999999'];
    default:
      return ['', 'mine', `${present ?? ''}x`, '127.0.0.1'];
  }
}

/** One bit of it. */
function flipped(hex: string): string {
  const bytes = Buffer.from(hex.slice(2), 'hex');
  if (bytes.length > 0) bytes.writeUInt8((bytes.at(-1) as number) ^ 1, bytes.length - 1);
  return `\\x${bytes.toString('hex')}`;
}

/** For a copy of a row, where the same value may not come twice. */
export function otherValue(type: string, present: unknown, chance: Chance): unknown {
  switch (type) {
    case 'smallint':
    case 'integer':
    case 'bigint':
      return Number(present ?? 0) + 1_000_000 + chance.below(1_000_000);
    case 'timestamp with time zone':
      return new Date(Date.now() - chance.below(YEAR_MS)).toISOString();
    case 'date':
      return new Date(Date.now() + chance.below(YEAR_MS)).toISOString().slice(0, 10);
    case 'bytea':
      return `\\x${Buffer.from(chance.bytes(32), 'latin1').toString('hex')}`;
    case 'uuid':
      return `00000000-0000-4000-8000-${chance.digits(12)}`;
    case 'boolean':
      return present !== true;
    default:
      return /^[A-Z]{3}$/.test(String(present))
        ? 'NZD'
        : `${String(present ?? 'copy').slice(0, 20)}-${chance.digits(5)}`;
  }
}
