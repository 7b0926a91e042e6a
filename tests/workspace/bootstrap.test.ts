import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));
const module = (name: string): string => JSON.stringify(join(root, 'bootstrap', name));

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdoff-bootstrap-'));
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

interface Ran {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function run(args: readonly string[], environment: Readonly<Record<string, string>> = {}): Promise<Ran> {
  return new Promise((resolve) => {
    const options = { cwd: folder, env: { ...process.env, ...environment } };
    const child = execFile(process.execPath, [...args], options, (_error, stdout, stderr) => {
      resolve({ code: child.exitCode, stdout, stderr });
    });
  });
}
const script = (source: string): readonly string[] => ['--input-type=module', '-e', source];

describe('the command that runs in our place', () => {
  const countInterrupts = `
    let count = 0;
    process.on('SIGINT', () => { count += 1; });
    process.on('SIGTERM', () => { console.log('count ' + count); process.exit(7); });
    setInterval(() => {}, 1000);
    console.log('ready');`;
  const start = (): ChildProcess =>
    spawn(
      process.execPath,
      script(`import { runInOurPlace } from ${module('child.mjs')};
              process.exitCode = await runInOurPlace(process.execPath, ['-e', ${JSON.stringify(countInterrupts)}], { cwd: '.' });`),
      { stdio: ['ignore', 'pipe', 'inherit'], detached: true },
    );
  const output = (child: ChildProcess): { text: string; until: (part: string) => Promise<void> } => {
    const seen = {
      text: '',
      until: async (part: string) => {
        while (!seen.text.includes(part)) await once(child.stdout ?? child, 'data');
      },
    };
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      seen.text += text;
    });
    return seen;
  };

  test('gets one Ctrl-C once, though the terminal and npm both send it, and passes on its exit code', async () => {
    const child = start();
    const seen = output(child);
    await seen.until('ready');
    const ended = once(child, 'exit');
    // What a terminal does: the whole foreground group at once. Then npm: each child again.
    process.kill(-(child.pid ?? 0), 'SIGINT');
    child.kill('SIGINT');
    await new Promise((resolve) => setTimeout(resolve, 600));
    child.kill('SIGTERM');
    expect(await ended).toEqual([7, null]);
    expect(seen.text).toContain('count 1');
  });

  test('gets a second Ctrl-C when it is meant as one', async () => {
    const child = start();
    const seen = output(child);
    await seen.until('ready');
    const ended = once(child, 'exit');
    child.kill('SIGINT');
    await new Promise((resolve) => setTimeout(resolve, 600));
    child.kill('SIGINT');
    await new Promise((resolve) => setTimeout(resolve, 100));
    child.kill('SIGTERM');
    await ended;
    expect(seen.text).toContain('count 2');
  });
});

describe('the lock of a checkout', () => {
  const locked = (work: string): readonly string[] =>
    script(`import { withLock } from ${module('lock.mjs')};
            import { appendFileSync } from 'node:fs';
            await withLock(async () => { ${work} });`);

  test('two runs at the same time take turns', async () => {
    const log = join(folder, 'turns');
    const work = `appendFileSync(${JSON.stringify(log)}, 'in '); await new Promise((r) => setTimeout(r, 300)); appendFileSync(${JSON.stringify(log)}, 'out ');`;
    await Promise.all([run(locked(work)), run(locked(work)), run(locked(work))]);
    expect(await readFile(log, 'utf8')).toBe('in out '.repeat(3));
  });

  test('one that was killed holds nothing', async () => {
    const killed = spawn(
      process.execPath,
      locked("console.log('in'); await new Promise((r) => setTimeout(r, 60000));"),
      {
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    );
    await once(killed.stdout, 'data');
    killed.kill('SIGKILL');
    await once(killed, 'exit');
    const fromMs = performance.now();
    expect(await run(locked("console.log('mine')"))).toMatchObject({ code: 0, stdout: 'mine\n' });
    expect(performance.now() - fromMs).toBeLessThan(5_000);
  });
});

describe('the tally of a test report', () => {
  const file = (name: string, status: string, tests: readonly string[], message = ''): object => ({
    name: join(root, name),
    status,
    message,
    assertionResults: tests.map((outcome, at) => ({ status: outcome, fullName: `test ${at}` })),
  });
  const tally = async (report: string): Promise<unknown> => {
    const path = join(folder, 'report.json');
    await writeFile(path, report);
    const { stdout } = await run(
      script(
        `import { readTally } from ${module('tally.mjs')}; console.log(JSON.stringify(readTally(${JSON.stringify(path)})));`,
      ),
    );
    return JSON.parse(stdout);
  };

  test('passed, failed, and what did not run are told apart', async () => {
    const testResults = [
      file('a.test.ts', 'passed', ['passed', 'passed', 'pending', 'todo', 'skipped']),
      file('b.test.ts', 'failed', ['passed', 'failed']),
    ];
    expect(await tally(JSON.stringify({ testResults }))).toEqual({
      passed: 3,
      failed: 1,
      skipped: 3,
      failures: ['b.test.ts: test 1'],
    });
  });

  test('a file that could not be loaded is a failure', async () => {
    const testResults = [file('a.test.ts', 'failed', [], 'Cannot find module x\n  at y')];
    expect(await tally(JSON.stringify({ testResults }))).toMatchObject({
      passed: 0,
      failed: 1,
      failures: ['a.test.ts: Cannot find module x'],
    });
  });

  test('no report, or half of one, counts as nothing passed', async () => {
    expect(await tally('{"testResults": [')).toEqual({ passed: 0, failed: 0, skipped: 0, failures: [] });
  });
});

describe('a wrong word', () => {
  test.each([
    [['fly'], /^holdoff: unknown command "fly"\.\n +Commands: start, holdoff, test, bench\.\n$/],
    [[], /^holdoff: unknown command ""\.\n/],
    [
      ['test', 'fleat'],
      /^holdoff: no test layer "fleat"\.\n +Layers: .*unit, fleet, containers, browser\.\n$/,
    ],
  ])('%j gets one line and what to do', async (args, message) => {
    const { code, stdout, stderr } = await run([join(root, 'bootstrap/run.mjs'), ...args]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(message);
  });
});

test('the holdoff command answers from any folder, through a link too, and passes on its exit code', async () => {
  const link = join(folder, 'linked');
  await symlink(join(root, 'holdoff'), link);
  const ran = (...args: string[]): Promise<Ran> =>
    new Promise((resolve) => {
      const child = execFile(link, args, { cwd: folder }, (_error, stdout, stderr) => {
        resolve({ code: child.exitCode, stdout, stderr });
      });
    });
  const read = await ran('retry-after', '30', '--json');
  expect({ code: read.code, stderr: read.stderr }).toMatchObject({ code: 0 });
  expect(JSON.parse(read.stdout)).toBeTypeOf('object');
  const none = await ran('policy', 'check', 'none.yaml');
  expect(none).toMatchObject({ code: 1 });
  expect(none.stderr).toContain('none.yaml: no such file');
}, 300_000);
