import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';

const WITHIN = { timeout: 15_000, interval: 50 };
const IDLE = ['-e', 'setInterval(() => {}, 1000)'];
const DEAF = ['-e', "process.on('SIGTERM', () => {}); console.log('up'); setInterval(() => {}, 1000)"];

let folder: string;
let children: ChildProcess[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdoff-guard-'));
});
afterEach(async () => {
  for (const child of children) child.kill('SIGKILL');
  children = [];
  await rm(folder, { recursive: true, force: true });
});

function idle(args: readonly string[] = IDLE): ChildProcess {
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'ignore'], detached: true });
  children.push(child);
  return child;
}

/** A process that guards two others, and says so. */
async function guarding(
  services: readonly ChildProcess[],
  store: ChildProcess,
  then = '',
): Promise<ChildProcess> {
  const file = join(folder, 'guarding.ts');
  await writeFile(
    file,
    `import { OrphanGuard } from ${JSON.stringify(join(import.meta.dirname, 'orphan-guard.ts'))};
    const guard = new OrphanGuard(1_000);
    guard.watchStore(${store.pid});
    guard.watchServices(${JSON.stringify(services.map(({ pid }) => pid))});
    ${then}
    console.log('watching');
    setInterval(() => {}, 1000);`,
  );
  const parent = idle([file]);
  if (parent.stdout !== null) await once(parent.stdout, 'data');
  return parent;
}

const how = ({ exitCode, signalCode }: ChildProcess): string => signalCode ?? `exit ${exitCode}`;

test('services, then the store, end when their command is killed', async () => {
  const [service, store] = [idle(), idle()];
  const parent = await guarding([service], store);
  expect([how(service), how(store)]).toEqual(['exit null', 'exit null']);
  parent.kill('SIGKILL');
  await vi.waitFor(() => expect([how(service), how(store)]).toEqual(['SIGTERM', 'SIGTERM']), WITHIN);
});

test('a service that does not listen is killed, before the store ends', async () => {
  const [service, store] = [idle(DEAF), idle()];
  if (service.stdout !== null) await once(service.stdout, 'data');
  const parent = await guarding([service], store);
  parent.kill('SIGKILL');
  await vi.waitFor(() => expect(how(service)).toBe('SIGKILL'), WITHIN);
  await vi.waitFor(() => expect(how(store)).toBe('SIGTERM'), WITHIN);
});

test('who has been released is left alone', async () => {
  const [service, store] = [idle(), idle()];
  const parent = await guarding([service], store, 'guard.release();');
  parent.kill('SIGKILL');
  await once(parent, 'exit');
  // Long enough for a guard that would act.
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect([how(service), how(store)]).toEqual(['exit null', 'exit null']);
});
