// What an operator is told after a restore: by how far everything has moved, what lives again, and what to do before the gateway starts.
import type { RestoredBackup } from '../../gateway/database/backup.js';
import { revivedLines } from '../../installation/restored.js';

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
