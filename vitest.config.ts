import { defineConfig } from 'vitest/config';

// Unit tests run against the sources through the `holdoff-source` export condition, so they need no build.
// Tests that start real processes (tests/) need `dist`, which `npm test` builds first.
const conditions = ['holdoff-source', 'node', 'import', 'default'];

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    testTimeout: 90_000,
    hookTimeout: 120_000,
    maxWorkers: 2,
    // Many tests start real processes and compete for two cores; the report names every test that needed its second try.
    retry: 1,
    // Of the decisions no branch is left to chance: `pnpm coverage`.
    coverage: {
      provider: 'v8',
      include: ['packages/throttle-core/src/core/**/*.ts'],
      thresholds: { 100: true },
      reporter: ['text'],
      reportsDirectory: 'reports/coverage',
    },
    projects: [
      {
        extends: true,
        test: {
          name: 'unit',
          include: [
            'packages/*/src/**/*.test.ts',
            'apps/*/src/**/*.test.ts',
            'tests/{story,workspace}/**/*.test.ts',
          ],
        },
      },
      { extends: true, test: { name: 'fleet', include: ['tests/fleet/**/*.test.ts'], testTimeout: 120_000 } },
      {
        extends: true,
        test: {
          name: 'containers',
          include: ['tests/containers/**/*.test.ts'],
          // One engine, one compose project: files take turns.
          fileParallelism: false,
          testTimeout: 400_000,
          hookTimeout: 600_000,
        },
      },
      { extends: true, test: { name: 'browser', include: ['tests/browser/**/*.test.ts'] } },
    ],
  },
});
