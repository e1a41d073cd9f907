// All tokens of a merchant for another vault, encrypted to a key before they leave this process.
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { type DecidingEntry, journalledSeal } from '../../journal/deciding-entries.js';
import { type EntrySigner, signerOf } from '../../journal/entry-signer.js';
import { journal } from '../../journal/journal.js';
import type { Database, Queryable } from '../../postgres/database.js';
import type { Progress } from '../../tasks/task.js';
import type { CustomerId, TokenId } from '../../values/ids.js';
import { refuse } from '../../values/refusal.js';
import {
  type Account,
  type AccountType,
  bankAccountFromSecrets,
  cardFromSecrets,
  type ShownAccount,
} from '../account.js';
import { withJournalledSeals } from '../keys/journalled-keys.js';
import type { KeyProvider } from '../keys/key-provider.js';
import { DataKeys, type OnBroken, SealBroken } from '../keys/keys.js';
import { type SealOwner, tokenPlace } from '../keys/sealed-rows.js';
import { networkIdWords } from '../tokens.js';
import { vaultOf } from '../vault-tasks.js';
import { COUNT_TOKENS, TOKENS_TO_EXPORT } from './exports.sql.js';

interface VaultExportWish {
  readonly merchant: number;
  /** Public keys of age, or files of them. */
  readonly recipients: readonly string[];
  /** Somebody has said that they mean it. Live cards are not exported without. */
  readonly confirmed?: boolean | undefined;
  /** Takes what is encrypted to its end. Called once everything else is known to be right. */
  readonly write: (encrypted: AsyncIterable<Uint8Array>) => Promise<void>;
  readonly progress: Progress;
}

interface VaultExportResult {
  readonly merchant: number;
  readonly tokens: number;
  /** Those whose seal does not open: they are not in the file. */
  readonly broken: readonly number[];
  readonly recipients: readonly string[];
  /** Of the encrypted file. */
  readonly sha256: string;
}

/** A key of age is public, and short enough for the journal; those for post-quantum ciphers are not. */
const SHOWN_RECIPIENT = 100;

export async function exportVault(
  database: Database,
  operator: string,
  provider: KeyProvider,
  { merchant, recipients, confirmed, write, progress }: VaultExportWish,
): Promise<VaultExportResult> {
  const { encrypted, recipientsOf } = await import('./age.js');
  const named = (await Promise.all(recipients.map(keysIn))).flat();
  const encrypter = recipientsOf(named);
  if (encrypter === undefined) return refuse('recipient_unreadable', { recipient: recipients.join(', ') });
  const owner = await vaultOf(database, merchant);
  const total = await countTokens(database, owner);
  // guard(export: live cards only where somebody means it): !confirmed ⇒ confirmed && total < 0
  if (owner.mode === 'live' && !confirmed) refuse('export_unconfirmed', { merchant, tokens: total });

  const { organisationId, merchantId } = owner;
  const to = `to ${named.map(fingerprint).join(', ')}`;
  const entry = { actor: operator, organisationId, merchantId } as const;
  // Before the first card is opened: whoever kills it half-way has been named.
  await journal(database, { ...entry, action: 'vault.export_begun', detail: `${total} tokens ${to}` });
  const broken: number[] = [];
  let tokens = 0;
  const lines = async function* (onBroken: OnBroken) {
    const keys = new DataKeys(database, provider, onBroken);
    for await (const page of exportedTokens(database, keys, owner)) {
      broken.push(...page.broken);
      tokens += page.tokens.length;
      if (page.tokens.length > 0) yield Buffer.from(page.tokens.map(lineOf).join(''), 'utf8');
      progress(tokens, total);
    }
  };
  const hash = createHash('sha256');
  await withJournalledSeals(database, operator, async (onBroken) =>
    write(hashed(await encrypted(lines(onBroken), encrypter), hash)),
  );
  const sha256 = hash.digest('hex');
  const detail = `${tokens} tokens ${to}, sha256 ${sha256}`;
  await journal(database, { ...entry, action: 'vault.exported', detail });
  return { merchant, tokens, broken, recipients: named.map(fingerprint), sha256 };
}

/** One key, or those of a file, one to a line. */
async function keysIn(recipient: string): Promise<string[]> {
  if (recipient.startsWith('age1')) return [recipient];
  const file = await readFile(recipient, 'utf8').catch(() => refuse('recipient_unreadable', { recipient }));
  const keys = file.split('\n').map((line) => line.trim());
  const named = keys.filter((line) => line !== '' && !line.startsWith('#'));
  return named.length > 0 ? named : refuse('recipient_unreadable', { recipient });
}

function fingerprint(recipient: string): string {
  if (recipient.length <= SHOWN_RECIPIENT) return recipient;
  return `sha256:${createHash('sha256').update(recipient).digest('hex')}`;
}

async function* hashed(
  bytes: AsyncIterable<Uint8Array>,
  hash: ReturnType<typeof createHash>,
): AsyncGenerator<Uint8Array> {
  for await (const piece of bytes) {
    hash.update(piece);
    yield piece;
  }
}

/** What `vault import` reads, and everything that another vault may want. */
function lineOf(token: ExportedToken): string {
  const { id, customerId, reference, customerName, virtualPan, preferredName, active, formerIds } = token;
  const line = {
    virtual_pan: virtualPan,
    token_id: id,
    customer_id: customerId,
    customer_reference: reference,
    customer_name: customerName,
    preferred_name: preferredName,
    active,
    ...accountFields(token.account),
    ...(formerIds.length > 0 && { former_token_ids: formerIds }),
    ...(token.networkTransactionId !== null && { network_transaction_id: token.networkTransactionId }),
  };
  return `${JSON.stringify(line)}\n`;
}

function accountFields(account: Account): Record<string, string> {
  if (account.type === 'general_bankaccount') {
    const { bsb, name } = account.bankAccount;
    return { bsb, account_number: account.bankAccount.reveal(), account_name: name };
  }
  const { number, expiry, name } = account;
  const card_number = number.reveal();
  number.erase();
  const month = String(expiry.month).padStart(2, '0');
  return { card_number, expiry: `${month}${String(expiry.year).slice(-2)}`, card_name: name };
}

interface ExportedToken {
  readonly id: TokenId;
  readonly customerId: CustomerId;
  readonly reference: string;
  readonly customerName: string;
  readonly virtualPan: string;
  readonly preferredName: string;
  readonly active: boolean;
  /** What it was called in other vaults, the oldest first. */
  readonly formerIds: readonly string[];
  readonly networkTransactionId: string | null;
  readonly account: Account;
}

interface ExportPage {
  readonly tokens: readonly ExportedToken[];
  /** Those that do not open. */
  readonly broken: readonly TokenId[];
}

interface TokenRow extends Omit<ExportedToken, 'account'> {
  readonly accountType: AccountType;
  readonly shown: ShownAccount;
  readonly sealed: Buffer;
  readonly sealVersion: number;
  readonly keyVersion: number;
  readonly networkTransactionMark: Buffer | null;
  readonly journalled: readonly DecidingEntry[] | null;
}

const PAGE = 500;

async function countTokens(database: Queryable, { organisationId, merchantId }: SealOwner): Promise<number> {
  const { rows } = await database.query<{ tokens: number }>(COUNT_TOKENS, [organisationId, merchantId]);
  return rows[0]?.tokens ?? 0;
}

/**
 * In the order of their numbers, opened for whoever takes them to another vault. What is deleted is gone, and what somebody has changed
 * in the database is left out. Each page is as it is when it is read: no transaction stays open meanwhile.
 */
async function* exportedTokens(
  database: Queryable,
  keys: DataKeys,
  owner: SealOwner,
): AsyncGenerator<ExportPage> {
  const signer = await signerOf(database);
  let after = 0;
  for (;;) {
    const values = [owner.organisationId, owner.merchantId, after, PAGE];
    const { rows } = await database.query<TokenRow>(TOKENS_TO_EXPORT, values);
    const tokens: ExportedToken[] = [];
    const broken: TokenId[] = [];
    for (const row of rows) {
      const account = await open(keys, owner, row, signer);
      if (account === undefined) broken.push(row.id);
      else tokens.push({ ...row, account, networkTransactionId: await networkIdOf(keys, owner, row) });
    }
    yield { tokens, broken };
    if (rows.length < PAGE) return;
    after = (rows.at(-1) as TokenRow).id;
  }
}

/** Null where somebody has changed it. */
async function networkIdOf(
  keys: DataKeys,
  { organisationId }: SealOwner,
  { id: tokenId, sealVersion, networkTransactionId, networkTransactionMark: mark }: TokenRow,
): Promise<string | null> {
  if (networkTransactionId === null || mark === null) return null;
  const words = networkIdWords({ organisationId, tokenId, sealVersion, networkTransactionId });
  const isKept = await keys.hasAttested(words, mark);
  return isKept ? networkTransactionId : null;
}

async function open(
  keys: DataKeys,
  owner: SealOwner,
  row: TokenRow,
  signer: EntrySigner | undefined,
): Promise<Account | undefined> {
  const { accountType, sealVersion, keyVersion, sealed, shown } = row;
  const place = tokenPlace(owner, row);
  const journalled = journalledSeal(row.journalled, signer);
  try {
    // As a payment would find it: set back to an earlier account, or brought back after it was deleted.
    if (journalled !== null && journalled !== sealVersion) throw keys.broken(place);
    const secrets = await keys.open(place, keyVersion, sealed);
    if (accountType === 'general_bankaccount')
      return { type: accountType, bankAccount: bankAccountFromSecrets(secrets) };
    const { number, expiry } = cardFromSecrets(secrets);
    return { type: accountType, number, expiry, name: shown['CARD.NAME'] ?? '' };
  } catch (error) {
    if (error instanceof SealBroken) return undefined;
    throw error;
  }
}
