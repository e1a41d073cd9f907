// Organisations, merchants and users: made and changed by the operator.
import { type Database, isUniqueViolation } from '../store/database.js';
import { containsCardNumber } from '../values/card.js';
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
} from './administration.sql.js';
import { digestSecret, makeSecret } from './credentials.js';

/** What the operator asked for cannot be done; the message is one clear line. */
export class AdministrationError extends Error {}

export interface OrganisationView {
  readonly id: number;
  readonly name: string;
}

export interface MerchantView {
  readonly id: number;
  readonly organisation: number;
  readonly name: string;
  readonly vault: boolean;
  readonly preauthorisationDays: number;
  readonly acquirer: string;
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

export class Administration {
  constructor(private readonly database: Database) {}

  async addOrganisation(name: string): Promise<OrganisationView> {
    const { rows } = await this.database.query<OrganisationView>(ADD_ORGANISATION, [checkName(name)]);
    return rows[0] as OrganisationView;
  }

  async organisations(): Promise<OrganisationView[]> {
    return (await this.database.query<OrganisationView>(LIST_ORGANISATIONS)).rows;
  }

  async addMerchant(organisation: number, name: string, change: MerchantChange = {}): Promise<MerchantView> {
    const { vault = false, preauthorisationDays = 7 } = change;
    const values = [organisation, checkName(name), vault, preauthorisationDays];
    const { rows } = await this.database.query<MerchantView>(ADD_MERCHANT, values);
    return rows[0] ?? none(`there is no organisation ${organisation}`);
  }

  async setMerchant(
    id: number,
    { name, vault, preauthorisationDays }: MerchantChange,
  ): Promise<MerchantView> {
    const values = [
      id,
      name === undefined ? null : checkName(name),
      vault ?? null,
      preauthorisationDays ?? null,
    ];
    const { rows } = await this.database.query<MerchantView>(SET_MERCHANT, values);
    return rows[0] ?? none(`there is no merchant ${id}`);
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
    return this.database.transaction(async (connection) => {
      const added = await connection
        .query<{ organisation: number }>(ADD_USER, [username, merchant, digestSecret(password)])
        .catch((error: unknown) => {
          throw isUniqueViolation(error)
            ? new AdministrationError(`the user ${username} exists already`)
            : error;
        });
      const { organisation } = added.rows[0] ?? none(`there is no merchant ${merchant}`);
      for (const granted of grants) {
        const { count } = await connection.query(GRANT_MERCHANT, [username, granted]);
        if (count === 0) none(`there is no merchant ${granted} in organisation ${organisation}`);
      }
      return {
        username,
        password,
        organisation,
        merchant,
        grants: [...new Set(grants)].sort((one, other) => one - other),
        revoked: false,
      };
    });
  }

  async users(): Promise<UserView[]> {
    return (await this.database.query<UserView>(LIST_USERS, [null])).rows;
  }

  async grant(username: string, merchant: number): Promise<UserView> {
    const user = await this.#user(username);
    const { count } = await this.database.query(GRANT_MERCHANT, [username, merchant]);
    if (count === 0) none(`there is no merchant ${merchant} in organisation ${user.organisation}`);
    return this.#user(username);
  }

  async rotate(username: string): Promise<UserWithSecret> {
    const user = await this.#user(username);
    const password = makeSecret();
    const { count } = await this.database.query(ROTATE_SECRET, [username, digestSecret(password)]);
    return count === 1 ? { ...user, password } : none(`the user ${username} is revoked`);
  }

  /** Twice is once. */
  async revoke(username: string): Promise<UserView> {
    await this.#user(username);
    await this.database.query(REVOKE_USER, [username]);
    return this.#user(username);
  }

  async #user(username: string): Promise<UserView> {
    const { rows } = await this.database.query<UserView>(LIST_USERS, [username]);
    return rows[0] ?? none(`there is no user ${username}`);
  }
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
