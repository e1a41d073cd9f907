// `npm run test:docs`: every command that README and docs/ show. It starts gateways page by page, which takes long, and is no part of
// `npm test`, which has to be short; the build server runs both.
import { defineConfig } from 'vitest/config';
import tests from './vitest.config.js';

export default defineConfig({
  ...tests,
  test: { ...tests.test, include: ['test/docs/documented-commands.long.ts'] },
});
