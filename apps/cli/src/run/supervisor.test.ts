import { spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Supervisor, type SupervisorOptions } from './supervisor.ts';

let folder: string;
let supervisor: Supervisor | undefined;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdoff-supervisor-'));
});
afterEach(async () => {
  await supervisor?.stop();
  supervisor = undefined;
  await rm(folder, { recursive: true, force: true });
});

async function sample(
  source: string,
  change: Partial<SupervisorOptions> = {},
  logFile = join(folder, 'log'),
) {
  const modulePath = join(folder, 'service.mjs');
  await writeFile(modulePath, source);
  const said: string[] = [];
  supervisor = new Supervisor({
    restartsMax: 2,
    restartDelayMs: 1,
    stopWithinMs: 5_000,
    baseEnvironment: process.env,
    onProcesses: () => undefined,
    onRestart: (name, exit) => said.push(`${name} again after ${exit}`),
    onGiveUp: (name, exit) => said.push(`${name} given up after ${exit}`),
    ...change,
  });
  supervisor.start({ name: 'service', modulePath, environment: { GREETING: 'hello' }, logFile });
  return { supervisor, said, log: () => readFile(logFile, 'utf8').catch(() => '') };
}

const WITHIN = { timeout: 15_000, interval: 20 };

test('a service that ends by itself is started again, so often and no more', async () => {
  const { said, log } = await sample('console.log(process.env.GREETING); process.exit(3);');
  await vi.waitFor(() => expect(said).toHaveLength(3), WITHIN);
  expect(said).toEqual([
    'service again after exit 3',
    'service again after exit 3',
    'service given up after exit 3',
  ]);
  await vi.waitFor(async () => expect(await log()).toBe('hello\n'.repeat(3)), WITHIN);
});

test('a stop is asked for, and what does not listen is killed', async () => {
  const deaf =
    "process.on('SIGTERM', () => console.log('asked')); setInterval(() => {}, 1000); console.log('up');";
  const { supervisor: running, said, log } = await sample(deaf, { stopWithinMs: 200 });
  await vi.waitFor(async () => expect(await log()).toContain('up'), WITHIN);
  await running.stop();
  expect(said).toEqual([]);
  await vi.waitFor(async () => expect(await log()).toBe('up\nasked\n'), WITHIN);
});

test('a service whose log cannot be written goes on, whatever it says', async () => {
  const done = join(folder, 'done');
  const chatty = `
    import { writeFileSync } from 'node:fs';
    for (let n = 0; n < 5000; n += 1) console.log('x'.repeat(100));
    writeFileSync(${JSON.stringify(done)}, 'yes');
    setInterval(() => {}, 1000);`;
  const { said } = await sample(chatty, {}, join(folder, 'no such folder', 'log'));
  await vi.waitFor(async () => expect(await readFile(done, 'utf8')).toBe('yes'), WITHIN);
  expect(said).toEqual([]);
});

test('services do not outlive a command that exits without stopping them', async () => {
  await writeFile(join(folder, 'service.mjs'), 'console.log(process.pid); setInterval(() => {}, 1000);');
  const parent = join(folder, 'parent.ts');
  const logFile = join(folder, 'log');
  await writeFile(
    parent,
    `import { statSync } from 'node:fs';
    import { Supervisor } from ${JSON.stringify(join(import.meta.dirname, 'supervisor.ts'))};
    new Supervisor({ restartsMax: 0, restartDelayMs: 1, stopWithinMs: 1, baseEnvironment: process.env, onProcesses: () => undefined })
      .start({ name: 's', modulePath: ${JSON.stringify(join(folder, 'service.mjs'))}, environment: {}, logFile: ${JSON.stringify(logFile)} });
    setInterval(() => {
      if ((statSync(${JSON.stringify(logFile)}, { throwIfNoEntry: false })?.size ?? 0) > 0) process.exit(130);
    }, 20);`,
  );
  expect(spawnSync(process.execPath, [parent], { timeout: 15_000 }).status).toBe(130);
  const pid = Number(await readFile(logFile, 'utf8'));
  expect(pid).toBeGreaterThan(0);
  await vi.waitFor(() => expect(() => process.kill(pid, 0)).toThrow('ESRCH'), WITHIN);
});
