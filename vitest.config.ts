import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/database-server.ts'],
    setupFiles: ['test/support/every-file.ts'],
    // A worker keeps its modules from file to file. To load them anew for each took longer than the tests in it.
    isolate: false,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Two cores, and every file runs gateways of its own: more at once only makes them slow.
    maxWorkers: 3,
  },
});
