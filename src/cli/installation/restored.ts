// What an operator is told after a restore: by how far everything has moved, what lives again, and what to do before the gateway starts;
// and `tollgate restored`, for what has to be reconciled then.
import type { Command } from 'commander';
import type { RestoredBackup } from '../../gateway/database/backup.js';
import {
  type Guarded,
  type LostTimeView,
  lostTimeReconciled,
  showLostTime,
} from '../../installation/restored.js';
import { BECS_CURRENCY } from '../../values/bank-account.js';
import { moneyText } from '../../values/money.js';
import { operate } from '../operator.js';
import { printing } from '../output.js';

export function restoredSentence(restored: RestoredBackup, dataDir: string): string {
  const { manifest, times, isCounted, hasKeyFile } = restored;
  const key =
    manifest.keyEncryptionKey === null || hasKeyFile
      ? []
      : [
          `The key-encryption key is not in the backup: its cards need the one called ${manifest.keyEncryptionKey}. Bring it before the gateway starts (with TOLLGATE_KEY_PROVIDER file, as ${dataDir}/key-encryption-key).`,
        ];
  const again = [
    ...(times > 1
      ? [`It is the ${times}th time that this backup was brought back: everything has moved further.`]
      : []),
    ...(isCounted
      ? []
      : [
          'That it was brought back could not be noted beside the backup: should it be brought back again, say by how far to move with --ahead.',
        ]),
  ];
  return [
    `Restored into ${dataDir}, as of ${manifest.taken}.`,
    ...again,
    ...revivedLines(restored),
    ...key,
  ].join('\n');
}

export function addRestoredCommands(program: Command): void {
  const restored = program
    .command('restored')
    .description('what a database that was restored has lost, until it is reconciled');
  printing(
    restored
      .command('show')
      .description('show the lost time, and which files of acquirers have to be reconciled'),
    async () => {
      const lost = await operate(showLostTime);
      return { value: { lost: lost ?? null }, sentence: lost === undefined ? NOTHING : lostLines(lost) };
    },
  );
  printing(
    restored
      .command('done')
      .description('say that the lost time is reconciled: searches that find nothing are answered again')
      .option('--note <text>', 'how you know what is missing, where no file of an acquirer says so'),
    async ({ note }: { note?: string }) => {
      const { from, until } = await operate((database, operator) =>
        lostTimeReconciled(database, operator, note),
      );
      return {
        value: { from, until },
        sentence: `Reconciled: ${from.toISOString()} to ${until.toISOString()}. Searches that find nothing are answered "empty" again.`,
      };
    },
  );
}

const NOTHING = 'Nothing is lost, or all of it was reconciled.';

function lostLines({ from, until, days }: LostTimeView): string {
  return [
    `Lost: what was processed from ${from.toISOString()} to ${until.toISOString()}.`,
    'Until `tollgate restored done`, searches that find nothing, and look-ups of audits that may have been given out then, are answered 503.',
    ...days.map(({ acquirer, date, reconciled, missingHere }) =>
      reconciled
        ? `${date}, ${acquirer}: reconciled; ${missingHere} payments are not here and nobody has looked at them.`
        : `${date}, ${acquirer}: not reconciled since. \`tollgate settlement reconcile FILE --acquirer ${acquirer} --date ${date}\``,
    ),
    'Payments that the acquirer has and you do not: tell their merchants, or have them refunded there, and mark each with `tollgate settlement looked-at`.',
  ].join('\n');
}

/** One line for each thing. */
export function revivedLines({ lostSeconds, moved, terminals, revived }: Guarded): string[] {
  const { inDoubt, reversals, debits, endpoints, deliveries, users, closedDay } = revived;
  return [
    `What came after it is lost here: ${duration(lostSeconds)}. Acquirers, banks and clients know of it; \`tollgate settlement reconcile\` shows payments that are missing.`,
    'Until you have reconciled it and said so with `tollgate restored done`, searches that find nothing are answered 503: `tollgate restored show`.',
    ...moved.map(
      ({ organisation, fromAudit, toAudit, fromCustomer, toCustomer, fromToken, toToken }) =>
        `Organisation ${organisation}: the next audit is ${toAudit} (was ${fromAudit}), the next customer ${toCustomer} (was ${fromCustomer}), the next token ${toToken} (was ${fromToken}).`,
    ),
    ...(terminals > 0 ? [`STANs of ${terminals} terminals have moved.`] : []),
    ...inDoubt.map(
      ({ acquirer, currency, transactions, amountCents, oldest }) =>
        `In doubt again: ${transactions} transactions at ${acquirer}, ${moneyText(amountCents, currency)}, the oldest of ${oldest.toISOString()}. The gateway asks about them, and reverses what a link without an inquiry cannot confirm, also if the client was told "approved" meanwhile: look at \`tollgate transaction in-doubt\` first.`,
    ),
    ...(reversals > 0 ? [`${reversals} reversals are repeated until they are acknowledged.`] : []),
    ...debits.map(
      ({ merchant, items, amountCents, lastFile }) =>
        `Merchant ${merchant}: ${items} direct debits wait for the bank again, ${moneyText(amountCents, BECS_CURRENCY)}. If a file after number ${lastFile} was lodged, they are in it: do not export them again before you have asked the bank.`,
    ),
    ...(endpoints > 0
      ? [
          `Webhooks of ${endpoints} endpoints are sent again from where they were (${deliveries} wait), under the IDs that they had.`,
        ]
      : []),
    `${users} users can log in: secrets that were replaced, and users that were revoked, since then work again. Rotate and revoke them.`,
    'Customers and tokens that were deleted since then are there again, with their cards: delete them. Settings, routes and surcharges are as they were.',
    closedDay === null
      ? 'No settlement day is closed.'
      : `Settlement is closed up to ${closedDay}: later days are closed anew, without what is lost.`,
  ];
}

function duration(seconds: number): string {
  if (seconds < 120) return `${seconds} seconds`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} minutes`;
  return seconds < 172_800 ? `${Math.round(seconds / 3_600)} hours` : `${Math.round(seconds / 86_400)} days`;
}
