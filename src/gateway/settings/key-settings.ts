// The settings for the key-encryption key: where it is, and how to get there.
import { isLoopback } from '../../values/network.js';
import type { KmsOptions } from '../../vault/keys/kms-keys.js';
import type { TransitOptions } from '../../vault/keys/transit-keys.js';
import { SettingsError, type Variables } from './variables.js';

/** The provider that wraps the data keys. */
export type KeyEncryption =
  | { readonly provider: 'file' }
  | { readonly provider: 'environment'; readonly keys: string }
  | ({ readonly provider: 'vault-transit' } & TransitOptions)
  | ({ readonly provider: 'aws-kms' } & KmsOptions);

const PROVIDERS = ['file', 'environment', 'vault-transit', 'aws-kms'] as const;
type Provider = (typeof PROVIDERS)[number];

const AWS_CREDENTIALS = ['ACCESS_KEY_ID', 'SECRET_ACCESS_KEY', 'SESSION_TOKEN'].map(
  (name) => `TOLLGATE_AWS_${name}`,
);

/** Read only if they belong to the chosen key provider. */
const OF_PROVIDERS = [
  'TOLLGATE_KEY_ENCRYPTION_KEY',
  ...['ADDRESS', 'TOKEN', 'KEY', 'MOUNT', 'NAMESPACE'].map((name) => `TOLLGATE_VAULT_${name}`),
  ...['KEY', 'REGION', 'ENDPOINT'].map((name) => `TOLLGATE_KMS_${name}`),
  ...AWS_CREDENTIALS,
];

export function readKeyEncryption(variables: Variables): KeyEncryption {
  variables.alsoKnown(...OF_PROVIDERS);
  const named = variables.isSet('TOLLGATE_KEY_PROVIDER');
  // An operator who has set up HashiCorp Vault or AWS KMS must not find out later that a key file was used.
  for (const [setting, provider] of [
    ['TOLLGATE_VAULT_ADDRESS', 'vault-transit'],
    ['TOLLGATE_KMS_KEY', 'aws-kms'],
  ] as const) {
    if (variables.isSet(setting) && !named) {
      throw new SettingsError(
        `${setting} is set and TOLLGATE_KEY_PROVIDER is not; set it to ${provider}, or to what shall be used instead`,
      );
    }
  }
  const otherwise = variables.isSet('TOLLGATE_KEY_ENCRYPTION_KEY') ? 'environment' : 'file';
  return optionsOf(variables, variables.choice('TOLLGATE_KEY_PROVIDER', PROVIDERS, otherwise));
}

/** Undefined, unless one provider replaces another. */
export function readPreviousKeyEncryption(variables: Variables): KeyEncryption | undefined {
  const name = 'TOLLGATE_PREVIOUS_KEY_PROVIDER';
  if (!variables.isSet(name)) {
    variables.alsoKnown(name);
    return undefined;
  }
  const previous = variables.choice(name, PROVIDERS, 'file');
  if (previous === readKeyEncryption(variables).provider)
    throw new SettingsError(`${name} must be another than TOLLGATE_KEY_PROVIDER`);
  return optionsOf(variables, previous);
}

function optionsOf(variables: Variables, provider: Provider): KeyEncryption {
  const needed = (name: string, value: string | undefined) => value ?? missing(name, provider);
  const text = (name: string) => needed(name, variables.text(name));
  const secret = (name: string) => needed(name, variables.secret(name));
  switch (provider) {
    case 'file':
      return { provider };
    case 'environment':
      return { provider, keys: secret('TOLLGATE_KEY_ENCRYPTION_KEY') };
    case 'vault-transit': {
      const source = variables.source('TOLLGATE_VAULT_TOKEN');
      return {
        provider,
        address: needed('TOLLGATE_VAULT_ADDRESS', readAddress(variables, 'TOLLGATE_VAULT_ADDRESS', '8200')),
        token: secret('TOLLGATE_VAULT_TOKEN'),
        tokenFile: source && 'path' in source ? source.path : undefined,
        keyName: variables.text('TOLLGATE_VAULT_KEY') ?? 'tollgate',
        mount: variables.text('TOLLGATE_VAULT_MOUNT') ?? 'transit',
        namespace: variables.text('TOLLGATE_VAULT_NAMESPACE'),
      };
    }
    case 'aws-kms': {
      const region = text('TOLLGATE_KMS_REGION');
      const sessionToken = variables.secret('TOLLGATE_AWS_SESSION_TOKEN');
      return {
        provider,
        region,
        keyName: text('TOLLGATE_KMS_KEY'),
        endpoint:
          readAddress(variables, 'TOLLGATE_KMS_ENDPOINT', '4566') ?? `https://kms.${region}.amazonaws.com`,
        ...(AWS_CREDENTIALS.some((name) => variables.isSet(name)) && {
          credentials: {
            accessKeyId: text('TOLLGATE_AWS_ACCESS_KEY_ID'),
            secretAccessKey: secret('TOLLGATE_AWS_SECRET_ACCESS_KEY'),
            ...(sessionToken !== undefined && { sessionToken }),
          },
        }),
      };
    }
  }
}

/** An eavesdropper would have every data key. */
function readAddress(variables: Variables, name: string, port: string): string | undefined {
  const text = variables.text(name);
  if (text === undefined) return undefined;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  // guard(Vault: no data key goes over the network in clear): (url?.protocol === 'http:' && isLoopback(url.hostname)) ⇒ url?.protocol === 'http:'
  const safe = url?.protocol === 'https:' || (url?.protocol === 'http:' && isLoopback(url.hostname));
  if (!safe) {
    throw new SettingsError(
      `${name} must begin with https://; http:// leads to this machine only, as in http://127.0.0.1:${port}`,
    );
  }
  return text;
}

function missing(name: string, provider: Provider): never {
  throw new SettingsError(`${name} is needed with TOLLGATE_KEY_PROVIDER ${provider}`);
}
