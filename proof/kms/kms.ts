// A second implementation of AWS KMS accepts what the gateway asks for. moto's server checks every signature by Amazon's own library
// (botocore).
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { KmsKeys } from '../../src/vault/keys/kms-keys.js';
import { freePort } from '../../testkit/gateway-process.js';
import { programOptions } from '../../testkit/program-options.js';
import { say } from '../../testkit/report.js';
import { verdict } from '../arena/verdict.js';

const values = programOptions({
  // The program `moto_server` of moto (PyPI), version 5, with its extras for servers and KMS.
  server: process.env.TOLLGATE_TEST_MOTO ?? 'moto_server',
});

if (spawnSync(values.server, ['--help'], { stdio: 'ignore' }).error !== undefined) {
  say(
    'kms: skipped: there is no moto_server; --server or TOLLGATE_TEST_MOTO names it (pip install "moto[kms,server]")',
  );
  process.exit(0);
}

const REGION = 'us-east-1';
/** What is asked before signatures count: a user, its access key, its policy, and a key. */
const UNSIGNED = 4;

const broken: Record<string, string[]> = {};
const note = (promise: string, kept: boolean, what: string) => {
  broken[promise] = [...(broken[promise] ?? []), ...(kept ? [] : [what])];
};

const port = await freePort();
const endpoint = `http://127.0.0.1:${port}`;
const moto: ChildProcess = spawn(values.server, ['-H', '127.0.0.1', '-p', String(port)], {
  env: { ...process.env, INITIAL_NO_AUTH_ACTION_COUNT: String(UNSIGNED) },
  stdio: 'ignore',
});
try {
  while (
    !(await fetch(`${endpoint}/moto-api/data.json`).then(
      ({ ok }) => ok,
      () => false,
    ))
  )
    await sleep(200);
  const credentials = await makeUser();
  const keyName = await makeKey();
  const options = { endpoint, region: REGION, keyName, credentials };
  const keys = new KmsKeys(options);
  const key = randomBytes(32);
  const purpose = 'tollgate/data-key/1/1/1/bound';
  const wrapped = await keys.wrap(key, purpose);
  note('the key is named as AWS names it', wrapped.keyId === `aws-kms/${keyName}`, wrapped.keyId);
  note(
    'what is wrapped is unwrapped',
    (await keys.unwrap(wrapped, purpose)).equals(key),
    'another key came back',
  );
  const refused = (asking: Promise<unknown>) =>
    asking.then(
      () => false,
      () => true,
    );
  note('for no other purpose', await refused(keys.unwrap(wrapped, `${purpose}/other`)), 'it opened');
  const forged = new KmsKeys({ ...options, credentials: { ...credentials, secretAccessKey: 'another' } });
  note('a wrong signature is refused', await refused(forged.wrap(key, purpose)), 'it was taken');
  note(
    'a wrong region is refused',
    await refused(new KmsKeys({ ...options, region: 'us-west-2' }).unwrap(wrapped, purpose)),
    'it was taken',
  );
} finally {
  moto.kill();
}
process.exitCode = verdict(broken, `${Object.keys(broken).length} promises of AWS KMS, by moto`);

async function makeUser(): Promise<{ accessKeyId: string; secretAccessKey: string }> {
  await iam({ Action: 'CreateUser', UserName: 'tollgate' });
  const made = await iam({ Action: 'CreateAccessKey', UserName: 'tollgate' });
  const Statement = [{ Effect: 'Allow', Action: ['kms:Encrypt', 'kms:Decrypt'], Resource: '*' }];
  const PolicyDocument = JSON.stringify({ Version: '2012-10-17', Statement });
  await iam({ Action: 'PutUserPolicy', UserName: 'tollgate', PolicyName: 'keys', PolicyDocument });
  const of = (name: string) => new RegExp(`<${name}>([^<]+)`).exec(made)?.[1] ?? '';
  return { accessKeyId: of('AccessKeyId'), secretAccessKey: of('SecretAccessKey') };
}

async function iam(form: Readonly<Record<string, string>>): Promise<string> {
  const body = new URLSearchParams({ Version: '2010-05-08', ...form });
  const response = await fetch(endpoint, { method: 'POST', headers: unsigned('iam'), body });
  if (!response.ok) throw new Error(`moto: ${form.Action} was answered with ${response.status}`);
  return response.text();
}

async function makeKey(): Promise<string> {
  const headers = {
    ...unsigned('kms'),
    'content-type': 'application/x-amz-json-1.1',
    'x-amz-target': 'TrentService.CreateKey',
  };
  const response = await fetch(endpoint, { method: 'POST', headers, body: '{}' });
  return ((await response.json()) as { KeyMetadata: { Arn: string } }).KeyMetadata.Arn;
}

/** It tells by this which service is meant, and looks at no more of it yet. */
function unsigned(service: string): Record<string, string> {
  const scope = `nobody/20261116/${REGION}/${service}/aws4_request`;
  return { Authorization: `AWS4-HMAC-SHA256 Credential=${scope}, SignedHeaders=host, Signature=0` };
}
