// Every operation over an ISO 8583 link survives every fault of the test host, in both dialects, with and without a MAC. In the end
// nothing is in doubt, the books agree, and the host has no complaints. The host also dies.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FAULTS } from '../../testkit/iso8583-host/behaviour.js';
import { AS2805, ASCII87 } from '../../testkit/iso8583-host/dialects.js';
import { HostProcess } from '../../testkit/iso8583-host/host-process.js';
import type { Entry } from '../../testkit/iso8583-host/ledger.js';
import { programOptions } from '../../testkit/program-options.js';
import { say } from '../../testkit/report.js';
import { temporaryFolder } from '../../testkit/temporary-folder.js';
import { hostBooks, type Judgement, LATE_MS, LinkArena } from '../arena/link-arena.js';
import { verdict } from '../arena/verdict.js';

const values = programOptions({
  // as2805 or ascii87; both unless one is named.
  dialect: undefined,
  // The numbers of faults, joined by commas; all unless some are named.
  faults: Object.keys(FAULTS).sort().join(','),
});
const dialects = values.dialect === undefined ? [AS2805.name, ASCII87.name] : [values.dialect];
const faults = values.faults.split(',');

/** As the gateway has them: for sending, then for receiving. */
const KEYS = ['00112233445566778899AABBCCDDEEFF', '0123456789ABCDEFFEDCBA9876543210'] as const;

const folder = temporaryFolder('link');
const keyFile = join(folder, 'mac-keys');
await writeFile(keyFile, `${KEYS.join('\n')}\n`);

const broken: Record<string, string[]> = {};
const figures: string[] = [];
for (const dialect of dialects) {
  for (const withMac of [false, true]) {
    const name = `${dialect}${withMac ? ' with MAC' : ''}`;
    const judgement = await meetFaults(dialect, withMac);
    for (const [promise, cases] of Object.entries(judgement.broken)) {
      broken[promise] = [...(broken[promise] ?? []), ...cases.map((one) => `${name}: ${one}`)];
    }
    figures.push(`${name}: ${judgement.figures}`);
    say(`… ${figures.at(-1)}`);
  }
}
process.exitCode = verdict(broken, `link: ${faults.length} faults; ${figures.join('; ')}`);

async function meetFaults(dialect: string, withMac: boolean): Promise<Judgement> {
  const host = await HostProcess.start({
    ledgerPath: join(folder, `${dialect}-${withMac}`),
    dialect,
    ...(withMac && { macKeys: `${KEYS[1]}:${KEYS[0]}` }),
  });
  const late = () => host.set({ lateMs: LATE_MS });
  await late();
  let isOver = false;
  const nursing = (async () => {
    for (;;) {
      await host.ended;
      if (isOver) return;
      await host.restart();
      await late();
    }
  })();
  const arena = await LinkArena.open(
    hostBooks(host, dialect),
    withMac ? { linkOptions: `--mac-key-file ${keyFile}` } : {},
  );
  await arena.shop.tradeOneOfEach();
  for (const fault of faults) await arena.shop.meetFault(fault);
  const judgement = await arena.judge();
  const unacknowledged = neverAcknowledged(host.entries());
  isOver = true;
  await host.stop();
  await nursing;
  return {
    ...judgement,
    broken: { ...judgement.broken, 'what is repeated is acknowledged in the end': unacknowledged },
  };
}

/** Advices and reversals that came in and were never answered, by their keys. */
function neverAcknowledged(entries: readonly Entry[]): string[] {
  const keysOf = (wanted: Entry['kind']) =>
    new Set(entries.flatMap((entry) => (entry.kind === wanted && 'mti' in entry ? [`${entry.key}`] : [])));
  const acknowledged = keysOf('acknowledged');
  return [...keysOf('received')].filter((key) => !acknowledged.has(key));
}
