// The test host shares no code with the gateway: a mistake that both made would agree with itself.
import { test } from 'vitest';
import { expectNone, filesUnder, read } from '../../testkit/project-files.js';

/** It starts processes, as whoever starts gateways does; the host itself does not use it. */
const STARTER = 'testkit/iso8583-host/host-process.ts';
const ALLOWED = /^(node:|\.\/|\.\.\/(chance|program-options)\.js$)/;

test('the host imports only itself and Node, nothing of the gateway', () => {
  expectNone(
    filesUnder('testkit/iso8583-host')
      .filter((path) => path !== STARTER)
      .flatMap((path) =>
        [...read(path).matchAll(/\bfrom '([^']+)'/g)]
          .map(([, imported = '']) => imported)
          .filter((imported) => !ALLOWED.test(imported) || imported === './host-process.js')
          .map((imported) => `${path} imports ${imported}`),
      ),
    'Write it anew from the description of the wire, in testkit/iso8583-host.',
  );
});
