// A client of several gateways, as behind a load balancer: each request goes to one that listens.
import { Tollgate, type TollgateOptions } from '../client/src/index.js';
import type { Chance } from './chance.js';

/** Its address is undefined while nobody listens. */
export interface CalledGateway {
  readonly baseUrl: string | undefined;
}

export interface SeveralGateways extends Omit<TollgateOptions, 'baseUrl' | 'fetch'> {
  readonly gateways: readonly CalledGateway[];
  readonly random: Chance;
}

const ANY_OF_THEM = 'http://localhost/v1';

export function clientOfSeveral({ gateways, random, ...options }: SeveralGateways): Tollgate {
  return new Tollgate({
    ...options,
    baseUrl: ANY_OF_THEM,
    fetch: async (address, request) => {
      const listening = gateways.flatMap(({ baseUrl }) => baseUrl ?? []);
      if (listening.length === 0) throw Object.assign(new Error('nobody listens'), { code: 'ECONNREFUSED' });
      return fetch(String(address).replace(ANY_OF_THEM, random.pick(listening)), request);
    },
  });
}
