import { execFile } from 'node:child_process';
import { copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

/**
 * The import rules hold the layers apart, and a rule that is spelled wrongly is silent. So each one is fed a file
 * that breaks it, at the path where it must fire.
 */
const root = fileURLToPath(new URL('../..', import.meta.url));
const run = promisify(execFile);

const core = 'packages/throttle-core/src/core';
const gate = 'packages/throttle-core/src/gate';
const redis = 'packages/throttle-core/src/redis';

const broken: readonly (readonly [path: string, source: string, rule: string, advice: RegExp])[] = [
  [`${core}/a.ts`, "import 'node:fs';", 'no-restricted-imports', /core\/ imports only itself/],
  [
    `${core}/a.ts`,
    "import { readFile } from 'node:fs/promises';",
    'no-restricted-imports',
    /core\/ imports only itself/,
  ],
  [`${core}/a.ts`, "import '../gate/gate.ts';", 'no-restricted-imports', /core\/ imports only itself/],
  [
    `${core}/a.ts`,
    "export * from '../redis/index.ts';",
    'no-restricted-imports',
    /core\/ imports only itself/,
  ],
  [`${core}/a.ts`, "import '@holdoff/url-job';", 'no-restricted-imports', /core\/ imports only itself/],
  [`${core}/a.ts`, "import 'ioredis';", 'no-restricted-imports', /talk to Redis in redis/],
  [`${core}/a.ts`, "import 'zod';", 'no-restricted-imports', /schemas belong to the edges/],
  [`${core}/a.ts`, 'export const a = Date.now();', 'no-restricted-properties', /take nowMs/],
  [`${core}/a.ts`, 'export const a = Math.random();', 'no-restricted-properties', /take draw01/],
  [`${core}/a.ts`, 'export const a = performance.now();', 'no-restricted-globals', /take nowMs/],
  [`${core}/a.ts`, 'setTimeout(() => 1, 1);', 'no-restricted-globals', /the shell waits/],
  [`${core}/a.ts`, 'export const a = process.pid;', 'no-restricted-globals', /as an argument/],
  [`${core}/a.ts`, "export const a = fetch('x');", 'no-restricted-globals', /no I\/O/],
  [`${gate}/a.ts`, "import '../redis/index.ts';", 'no-restricted-imports', /implements the port/],
  [`${gate}/a.ts`, "import 'ioredis';", 'no-restricted-imports', /storage-free/],
  [`${redis}/a.ts`, "import '@holdoff/worker/main';", 'no-restricted-imports', /Packages never import apps/],
  [
    'packages/url-job/src/a.ts',
    "import '@holdoff/throttle-core';",
    'no-restricted-imports',
    /knows nothing of throttling/,
  ],
  [
    'packages/service-runtime/src/a.ts',
    "import '@holdoff/throttle-core/redis';",
    'no-restricted-imports',
    /knows nothing of throttling/,
  ],
  [
    'packages/service-runtime/src/a.ts',
    "import '@holdoff/scheduler/main';",
    'no-restricted-imports',
    /Packages never import apps/,
  ],
  [
    'apps/worker/src/a.ts',
    "import '@holdoff/scheduler/main';",
    'no-restricted-imports',
    /Apps never import each other/,
  ],
  [
    'apps/worker/src/a.ts',
    "import '../../scheduler/src/main.ts';",
    'no-restricted-imports',
    /Apps never import each other/,
  ],
  [
    'apps/worker/src/sinks/a.ts',
    "import '../../../cli/src/main.ts';",
    'no-restricted-imports',
    /Apps never import each other/,
  ],
  [
    'apps/scheduler/src/a.ts',
    "import '@holdoff/worker/main';",
    'no-restricted-imports',
    /Apps never import each other/,
  ],
  [
    'apps/sample-origin/src/a.ts',
    "import '@holdoff/worker/main';",
    'no-restricted-imports',
    /Apps never import each other/,
  ],
  [
    'apps/worker/src/a.ts',
    "import '@holdoff/throttle-core/src/core/policy.ts';",
    'no-restricted-imports',
    /Deep imports are closed/,
  ],
  [
    'apps/cli/src/a.ts',
    "import '@holdoff/url-job/dist/url-job.js';",
    'no-restricted-imports',
    /Deep imports are closed/,
  ],
  [
    'apps/cli/src/a.ts',
    "import '../../../packages/url-job/src/url-job.ts';",
    'no-restricted-imports',
    /Deep imports are closed/,
  ],
  ['apps/worker/src/a.ts', 'export const a = process.env.HOME;', 'no-process-env', /./],
  ['apps/worker/src/a.ts', 'export default 1;', 'no-default-export', /./],
  ['apps/worker/src/a.ts', 'export const a: any = 1;', 'no-explicit-any', /./],
  ['apps/worker/src/a.ts', "console.log('a');", 'no-console', /./],
  [
    'apps/worker/src/a.ts',
    Array.from({ length: 301 }, (_, n) => `export const a${n} = ${n};`).join('\n'),
    'max-lines',
    /./,
  ],
];

const allowed: readonly (readonly [path: string, source: string])[] = [
  [`${core}/a.ts`, "import type { StopReason } from './stop-reason.ts';\nexport type A = StopReason;"],
  [`${core}/a.test.ts`, "import { readFileSync } from 'node:fs';\nexport const a = readFileSync;"],
  [`${gate}/a.ts`, "import { STOP_REASONS } from '../core/stop-reason.ts';\nexport const a = STOP_REASONS;"],
  [
    `${redis}/a.ts`,
    "import { Redis } from 'ioredis';\nimport { a } from '../gate/gate.ts';\nexport const b = [Redis, a];",
  ],
  [
    'apps/worker/src/a.ts',
    "import { WheelTimer } from '@holdoff/throttle-core';\nexport const a = WheelTimer;",
  ],
  [
    'apps/worker/src/a.ts',
    "import { RedisGate } from '@holdoff/throttle-core/redis';\nexport const a = RedisGate;",
  ],
  ['apps/worker/src/guard/a.ts', "import { b } from '../fetch-page.ts';\nexport const a = b;"],
  ['apps/worker/src/config.ts', 'export const a = process.env;'],
  [
    'apps/cli/src/a.ts',
    "import { startSampleOrigin } from '@holdoff/sample-origin';\nexport const a = startSampleOrigin;",
  ],
];

interface Finding {
  readonly rule: string;
  readonly text: string;
}

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdoff-lint-'));
  await copyFile(join(root, '.oxlintrc.json'), join(folder, '.oxlintrc.json'));
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

async function lint(path: string, source: string): Promise<readonly Finding[]> {
  const file = join(folder, path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, `${source}\n`);
  const { stdout } = await run(join(root, 'node_modules/.bin/oxlint'), ['--format', 'json', path], {
    cwd: folder,
  }).catch((error: { stdout: string }) => error);
  await rm(file);
  const { diagnostics } = JSON.parse(stdout) as {
    diagnostics: readonly { code: string; message: string; help?: string }[];
  };
  return diagnostics.map(({ code, message, help }) => ({
    rule: /\((.*)\)/.exec(code)?.[1] ?? code,
    text: `${message} ${help ?? ''}`,
  }));
}

describe('lint refuses', () => {
  test.each(broken)('%s: %s', async (path, source, rule, advice) => {
    const findings = await lint(path, source);
    expect(findings.filter((finding) => finding.rule === rule).map(({ text }) => text)).toEqual([
      expect.stringMatching(advice),
    ]);
  });
});

describe('lint allows', () => {
  test.each(allowed)('%s: %s', async (path, source) => {
    expect(await lint(path, source)).toEqual([]);
  });
});
