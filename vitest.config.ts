import { defineConfig } from 'vitest/config';

// Unit tests run against the sources through the `holdoff-source` export condition, so they need no build.
// Tests that start real processes (tests/) need `dist`, which `npm test` builds first.
const conditions = ['holdoff-source', 'node', 'import', 'default'];

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    include: ['packages/*/src/**/*.test.ts', 'apps/*/src/**/*.test.ts', 'tests/**/*.test.ts'],
    testTimeout: 20_000,
    hookTimeout: 60_000,
    maxWorkers: 2,
  },
});
