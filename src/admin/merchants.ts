// Organisations, merchants and users: made and changed by the operator.

import { type JournalAction, type JournalEntry, journal } from '../journal/journal.js';
import { digestSecret, makeSecret } from '../merchants/credentials.js';
import { isCheckViolation, isUniqueViolation, type Queryable, type Statement } from '../postgres/database.js';
import { AdministrationError } from '../values/administration-error.js';
import { containsCardNumber } from '../values/card.js';
import type { Mode } from '../values/mode.js';
import { isRestricted } from '../values/text.js';
import {
  ADD_MERCHANT,
  ADD_ORGANISATION,
  ADD_USER,
  GRANT_MERCHANT,
  LIST_MERCHANTS,
  LIST_ORGANISATIONS,
  LIST_USERS,
  REVOKE_USER,
  ROTATE_SECRET,
  SET_MERCHANT,
} from './merchants.sql.js';

export interface OrganisationView {
  readonly id: number;
  readonly name: string;
}

export interface MerchantView {
  readonly id: number;
  readonly organisation: number;
  readonly name: string;
  readonly mode: Mode;
  readonly vault: boolean;
  readonly preauthorisationDays: number;
  /** The link for its cards, if it has one. */
  readonly acquirer: string | null;
}

export interface UserView {
  readonly username: string;
  readonly organisation: number;
  readonly merchant: number;
  readonly grants: readonly number[];
  readonly revoked: boolean;
}

/** The secret is in here once, and nowhere else. */
export interface UserWithSecret extends UserView {
  readonly password: string;
}

export interface MerchantChange {
  readonly name?: string | undefined;
  readonly vault?: boolean | undefined;
  readonly preauthorisationDays?: number | undefined;
}

/** A merchant is test or live from the beginning, and for good. */
export interface NewMerchant extends MerchantChange {
  readonly live?: boolean | undefined;
}

export class Administration {
  constructor(
    private readonly database: Queryable,
    /** Who does it, for the journal. */
    private readonly actor: string,
  ) {}

  addOrganisation(name: string): Promise<OrganisationView> {
    const values = [checkName(name)];
    return this.database.transaction(async (connection) => {
      const { rows } = await connection.query<OrganisationView>(ADD_ORGANISATION, values);
      const added = rows[0] as OrganisationView;
      await journal(connection, this.#entry('organisation.added', { organisationId: added.id }));
      return added;
    });
  }

  async organisations(): Promise<OrganisationView[]> {
    return (await this.database.query<OrganisationView>(LIST_ORGANISATIONS)).rows;
  }

  async addMerchant(organisation: number, name: string, wish: NewMerchant = {}): Promise<MerchantView> {
    const { vault = false, preauthorisationDays = 7, live = false } = wish;
    const mode: Mode = live ? 'live' : 'test';
    const values = [organisation, checkName(name), vault, preauthorisationDays, mode];
    const otherwise = `there is no organisation ${organisation}`;
    return this.#changeMerchant('merchant.added', ADD_MERCHANT, values, otherwise).catch((error: unknown) => {
      throw refusalOfLive(error) ?? error;
    });
  }

  setMerchant(id: number, { name, vault, preauthorisationDays }: MerchantChange): Promise<MerchantView> {
    const values = [
      id,
      name === undefined ? null : checkName(name),
      vault ?? null,
      preauthorisationDays ?? null,
    ];
    return this.#changeMerchant('merchant.changed', SET_MERCHANT, values, `there is no merchant ${id}`);
  }

  async merchants(organisation?: number): Promise<MerchantView[]> {
    return (await this.database.query<MerchantView>(LIST_MERCHANTS, [organisation ?? null])).rows;
  }

  async addUser(
    username: string,
    merchant: number,
    grants: readonly number[] = [],
    password: string = makeSecret(),
  ): Promise<UserWithSecret> {
    if (!/^[A-Za-z0-9._@-]{1,64}$/.test(username) || containsCardNumber(username)) {
      throw new AdministrationError('a user name takes 1 to 64 letters, digits, and . _ @ -');
    }
    const further = [...new Set(grants)].sort((one, other) => one - other);
    return this.database.transaction(async (connection) => {
      const added = await connection
        .query<{ organisation: number }>(ADD_USER, [username, merchant, digestSecret(password)])
        .catch((error: unknown) => {
          throw isUniqueViolation(error)
            ? new AdministrationError(`the user ${username} exists already`)
            : error;
        });
      const { organisation } = added.rows[0] ?? none(`there is no merchant ${merchant}`);
      for (const granted of further) await grantMerchant(connection, username, granted, organisation);
      await journal(
        connection,
        this.#entry('user.added', { organisationId: organisation, merchantId: merchant, detail: username }),
      );
      return { username, password, organisation, merchant, grants: further, revoked: false };
    });
  }

  async users(): Promise<UserView[]> {
    return (await this.database.query<UserView>(LIST_USERS, [null])).rows;
  }

  grant(username: string, merchant: number): Promise<UserView> {
    return this.#changeUser('user.granted', username, (connection, { organisation }) =>
      grantMerchant(connection, username, merchant, organisation),
    );
  }

  async rotate(username: string): Promise<UserWithSecret> {
    const password = makeSecret();
    const user = await this.#changeUser('user.rotated', username, async (connection) => {
      const { count } = await connection.query(ROTATE_SECRET, [username, digestSecret(password)]);
      if (count === 0) none(`the user ${username} is revoked`);
    });
    return { ...user, password };
  }

  /** Twice is once. */
  revoke(username: string): Promise<UserView> {
    return this.#changeUser('user.revoked', username, async (connection) => {
      await connection.query(REVOKE_USER, [username]);
    });
  }

  #changeMerchant(
    action: JournalAction,
    statement: Statement,
    values: readonly unknown[],
    otherwise: string,
  ): Promise<MerchantView> {
    return this.database.transaction(async (connection) => {
      const { rows } = await connection.query<MerchantView>(statement, values);
      const merchant = rows[0] ?? none(otherwise);
      const detail = `${merchant.mode}, ${merchant.vault ? 'with vault' : 'without vault'}`;
      await journal(
        connection,
        this.#entry(action, { organisationId: merchant.organisation, merchantId: merchant.id, detail }),
      );
      return merchant;
    });
  }

  #changeUser(
    action: JournalAction,
    username: string,
    change: (connection: Queryable, user: UserView) => Promise<void>,
  ): Promise<UserView> {
    return this.database.transaction(async (connection) => {
      await change(connection, await findUser(connection, username));
      const user = await findUser(connection, username);
      const { organisation: organisationId, merchant: merchantId } = user;
      await journal(connection, this.#entry(action, { organisationId, merchantId, detail: username }));
      return user;
    });
  }

  #entry(action: JournalAction, about: Omit<JournalEntry, 'actor' | 'action'>): JournalEntry {
    return { actor: this.actor, action, ...about };
  }
}

/** Real payments need real time. The database decides, since the clock may be moved at the same moment. */
function refusalOfLive(error: unknown): AdministrationError | undefined {
  if (isCheckViolation(error, 'live_needs_real_time')) {
    return new AdministrationError(
      'no live merchant can be added while the clock is ahead of real time; `tollgate clock reset` brings it back',
    );
  }
  if (isCheckViolation(error, 'live_needs_processes_in_time')) {
    return new AdministrationError(
      'no live merchant can be added while a process of the gateway has a clock that is ahead; try again in 20 seconds',
    );
  }
  return undefined;
}

async function findUser(connection: Queryable, username: string): Promise<UserView> {
  const { rows } = await connection.query<UserView>(LIST_USERS, [username]);
  return rows[0] ?? none(`there is no user ${username}`);
}

async function grantMerchant(
  connection: Queryable,
  username: string,
  merchant: number,
  organisation: number,
): Promise<void> {
  const { count } = await connection.query(GRANT_MERCHANT, [username, merchant]);
  if (count === 0) none(`there is no merchant ${merchant} in organisation ${organisation}`);
}

function checkName(name: string): string {
  if (name.length < 1 || name.length > 60 || !isRestricted(name) || containsCardNumber(name)) {
    throw new AdministrationError('a name takes 1 to 60 characters of plain ASCII, and no card number');
  }
  return name;
}

function none(message: string): never {
  throw new AdministrationError(message);
}
