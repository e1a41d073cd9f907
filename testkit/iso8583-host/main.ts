// The host as a program: `node build/testkit/iso8583-host/main.js --ledger FILE`. It says where it listens, and runs until it is
// told to stop.
import { readFileSync } from 'node:fs';
import { programOptions } from '../program-options.js';
import { openControl } from './control.js';
import { dialectNamed } from './dialects.js';
import { Host } from './host.js';
import { macKeys } from './mac.js';

const values = programOptions({
  ledger: undefined,
  dialect: 'as2805',
  port: 0,
  'control-port': 0,
  // SEND:RECEIVE, each 32 hexadecimal digits.
  'mac-keys': undefined,
  'tls-certificate': undefined,
  'tls-key': undefined,
});
if (values.ledger === undefined) throw new Error('--ledger names the file that the host keeps its books in');

const certificate = values['tls-certificate'];
const key = values['tls-key'];
const keys = values['mac-keys'];
const host = await Host.open({
  dialect: dialectNamed(values.dialect),
  ledgerPath: values.ledger,
  port: values.port,
  macKeys: keys === undefined ? undefined : macKeys(keys),
  tls:
    certificate === undefined || key === undefined
      ? undefined
      : { cert: readFileSync(certificate, 'utf8'), key: readFileSync(key, 'utf8') },
});
const { url } = await openControl(host, values['control-port']);
process.stdout.write(`host on 127.0.0.1:${host.port}, control on ${url}\n`);
process.on('SIGTERM', () => {
  void host.close().then(() => process.exit(0));
});
