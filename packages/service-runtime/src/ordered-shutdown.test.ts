import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const FIXTURE = fileURLToPath(new URL('testing/shutdown-process.ts', import.meta.url));

interface Ended {
  readonly code: number | null;
  readonly signal: string | null;
  readonly lines: readonly Record<string, unknown>[];
  readonly last: Record<string, unknown>;
}

/** Runs the fixture as a process of its own; `act` is called when it says that it is ready. */
async function runProcess(
  mode: string,
  act: (kill: (signal: NodeJS.Signals) => void) => void,
): Promise<Ended> {
  const child = spawn(process.execPath, [FIXTURE, mode], { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  let acted = false;
  child.stdout.on('data', (data: Buffer) => {
    output += data.toString();
    if (!acted && output.includes('"ready"')) {
      acted = true;
      act((signal) => child.kill(signal));
    }
  });
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
  const lines = output
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  return { code, signal, lines, last: lines.at(-1) ?? {} };
}

test('SIGTERM runs the steps in order and ends with 0 and a last line', async () => {
  const { code, lines, last } = await runProcess('orderly', (kill) => kill('SIGTERM'));
  expect(code).toBe(0);
  expect(lines.filter((line) => line['msg'] === 'step').map((line) => line['name'])).toEqual([
    'first',
    'second',
  ]);
  expect(last).toMatchObject({
    msg: 'stopped',
    reason: 'SIGTERM',
    exitCode: 0,
    steps: { first: 'ok', second: 'ok' },
  });
});

test('a step that hangs or fails does not keep the next ones from running', async () => {
  const { code, last } = await runProcess('stuck', (kill) => kill('SIGINT'));
  expect(code).toBe(1);
  expect(last).toMatchObject({ msg: 'stopped', steps: { hangs: 'late', fails: 'failed', last: 'ok' } });
});

test('a second signal ends the process at once', async () => {
  const started = performance.now();
  const { code, last } = await runProcess('endless', (kill) => {
    kill('SIGTERM');
    setTimeout(() => kill('SIGTERM'), 100);
  });
  expect(code).toBe(143);
  expect(performance.now() - started).toBeLessThan(10_000);
  expect(last).toMatchObject({ msg: 'stopped', reason: 'SIGTERM again: forced' });
});

test.each([
  ['uncaught', 'uncaughtException'],
  ['rejected', 'unhandledRejection'],
])('an error that nobody caught (%s) is the last line, redacted', async (mode, reason) => {
  const { code, last } = await runProcess(mode, () => undefined);
  expect(code).toBe(70);
  expect(last).toMatchObject({ level: 'fatal', msg: 'stopped', reason, error: { name: 'Error' } });
  expect(JSON.stringify(last)).not.toContain('CANARY');
});

test('the last line is there every time, also behind 100 kB of other lines', async () => {
  const runs = 10;
  let complete = 0;
  for (let run = 0; run < runs; run += 1) {
    const ended = await runProcess(run % 2 === 0 ? 'chatty' : 'chatty-uncaught', (kill) => {
      if (run % 2 === 0) kill('SIGTERM');
    });
    if (ended.last['msg'] === 'stopped') complete += 1;
  }
  expect(complete).toBe(runs);
}, 120_000);
