import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runCommandForTest } from '../testing/run-command.ts';
import { planCommand } from './plan.ts';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdoff-plan-'));
});
afterAll(() => rm(folder, { recursive: true }));

function plan(args: readonly string[], input = '') {
  return runCommandForTest(planCommand, args, { input });
}

async function decide(args: readonly string[], input = ''): Promise<Record<string, unknown>> {
  const { out, error, exitCode } = await plan(['--json', ...args], input);
  expect({ error, exitCode }).toEqual({ error: '', exitCode: 0 });
  return JSON.parse(out) as Record<string, unknown>;
}

const BUDGET =
  '--preset strict-budget --method GET --status 503 --retry-after 6 --attempts 1 --max-attempts 3 --deadline 20 --per-attempt 5 --tokens 20 --draw 0.5 --base 1 --cap 4'.split(
    ' ',
  );

describe('the published examples by flags', () => {
  test('4 of 20 s used: wait 6 s, slack 5 s', async () => {
    expect(await decide([...BUDGET, '--elapsed', '4'])).toMatchObject({
      decision: 'WAIT_THEN_RECHECK',
      waitSeconds: 6,
      slackSeconds: 5,
      notBefore: '2026-01-15T12:00:06Z',
      stopReason: null,
      jobEffect: { kind: 'retry_at', inPlace: false },
    });
  });

  test('12 of 20 s used: stop, and the host still pauses', async () => {
    expect(await decide([...BUDGET, '--elapsed', '12'])).toMatchObject({
      decision: 'STOP',
      stopReason: 'deadline',
      waitSeconds: null,
      slackSeconds: null,
      hostEffect: { cooldownUntilMs: Date.UTC(2026, 0, 15, 12, 0, 6) },
    });
  });

  test('19 s left and a date that asks for 5 s: wait 5 s, slack 11 s', async () => {
    const dated = [
      '--elapsed',
      '1',
      '--retry-after',
      'Thu, 15 Jan 2026 12:00:05 GMT',
      '--attempt-budget',
      '3s',
    ];
    expect(await decide([...BUDGET, ...dated])).toMatchObject({ waitSeconds: 5, slackSeconds: 11 });
  });

  test('for people', async () => {
    const { out } = await plan([...BUDGET, '--elapsed', '4']);
    expect(out.split('\n')[0]).toBe('WAIT_THEN_RECHECK  wait 6 s, slack 5 s');
    expect(out).toContain("why         ask again; the server's wait is the latest of the waits");
    expect(out).toContain('host        no request of the fleet for 6 s');
    for (const line of out.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
  });
});

describe('every decision has a name', () => {
  test.for([
    ['DONE', ['--status', '200']],
    ['STOP', ['--status', '404']],
    ['WAIT_THEN_RECHECK', ['--status', '429', '--retry-after', '9']],
    ['WAIT_THEN_RECHECK', ['--status', '429', '--retry-after', '900']],
    ['HOLD', ['--status', '429', '--retry-after', '90000', '--deadline', 'none']],
    ['FOLLOW_REDIRECT', ['--status', '302', '--redirect-hop', '1']],
    ['GIVE_BACK', ['--fault', 'ERR_ABORTED']],
    ['STOP', ['--fault', 'ENOTFOUND']],
    ['WAIT_THEN_RECHECK', ['--fault', 'ECONNRESET']],
  ] as const)('%s', async ([name, args]) => {
    expect((await decide(args))['decision']).toBe(name);
    const { out } = await plan(args);
    expect(out.startsWith(name)).toBe(true);
  });
});

describe('facts', () => {
  test.for([
    ['--not-approved', 'not_approved'],
    ['--cancelled', 'cancelled'],
    ['--method=POST', 'method'],
    ['--tokens=0', 'retry_budget'],
    ['--host-tokens=0.5', 'retry_budget'],
    ['--attempts=10', 'attempts'],
    ['--deadline=30s', 'deadline'],
  ] as const)('%s stops with %s', async ([flag, reason]) => {
    expect(await decide(['--status', '503', flag])).toMatchObject({ stopReason: reason });
  });

  test('clocks of the host, runs and deferrals', async () => {
    expect(await decide(['--status', '503', '--cooldown', '50s'])).toMatchObject({ waitSeconds: 50 });
    expect(await decide(['--status', '503', '--circuit-open', '5m'])).toMatchObject({ waitSeconds: 300 });
    expect(await decide(['--retry-after', '1', '--throttled-in-run', '4'])).toMatchObject({
      waitSeconds: 3600,
    });
    expect(await decide(['--hintless-events', '4'])).toMatchObject({ decision: 'HOLD' });
    expect(await decide(['--deferrals', '50'])).toMatchObject({ stopReason: 'deferrals' });
  });

  test('any header of a response may decide', async () => {
    const epoch = String(Date.UTC(2026, 0, 15, 12, 1) / 1000);
    const decision = await decide([
      '--header',
      'X-RateLimit-Remaining: 0',
      '--header',
      `X-RateLimit-Reset: ${epoch}`,
    ]);
    expect(decision).toMatchObject({ serverWait: { kind: 'delay', seconds: 60 } });
    expect(await decide(['--header', 'Retry-After: 3', '--header', 'retry-after: 70'])).toMatchObject({
      serverWait: { seconds: 70 },
    });
  });
});

describe('JSON in', () => {
  test('names in any spelling, flags on top', async () => {
    const written = JSON.stringify({
      status: 503,
      retry_after: 6,
      'max-attempts': 3,
      attemptBudget: '5s',
      deadline: 20,
    });
    expect(
      await decide(['--input', '-', '--elapsed', '4', '--preset', 'strict-budget'], written),
    ).toMatchObject({
      waitSeconds: 6,
      slackSeconds: 5,
    });
  });

  test('a list is answered line by line, from a file too', async () => {
    const path = join(folder, 'cases.json');
    await writeFile(path, '[{"status":200},{"status":404}]');
    const { out } = await plan(['--input', path, '--json']);
    expect(
      out
        .trim()
        .split('\n')
        .map((line) => (JSON.parse(line) as { decision: string }).decision),
    ).toEqual(['DONE', 'STOP']);
  });

  test('everything wrong is named at once, and the rest is answered', async () => {
    const { out, error, exitCode } = await plan(
      ['--input', '-', '--json'],
      '[{"status":1000,"tokens":-1,"x":1},{"status":200},3,{"max_attempts":1,"maxAttempts":2}]',
    );
    expect(exitCode).toBe(1);
    expect(out.trim().split('\n')).toHaveLength(1);
    expect(error.trim().split('\n')).toEqual([
      'holdoff plan: case 1: x: 1 is not a known field',
      'holdoff plan: case 1: status: 1000 must be a status from 100 to 999',
      'holdoff plan: case 1: tokens: -1 must be a whole number from 0, or none',
      'holdoff plan: case 3: case: 3 must be one JSON object',
      'holdoff plan: case 4: maxAttempts: 2 is another name of maxAttempts, which is there too',
    ]);
  });

  test.for([
    [['--input', '-'], 'holdoff plan: standard input must be a JSON object, or a list of them\n'],
    [['--input', '/nowhere/at/all'], expect.stringContaining('/nowhere/at/all cannot be read')],
    [['--attempts', 'x'], 'holdoff plan: --attempts: "x" must be a whole number from 1\n'],
    [['--max-attempts', '0'], 'holdoff plan: --max-attempts: "0" must be a whole number from 1, or none\n'],
    [['--header', 'x'], expect.stringContaining('"Name: value"')],
  ] as const)('%j is refused', async ([args, message]) => {
    const { error, exitCode, out } = await plan(args, '{');
    expect(error).toEqual(message);
    expect([exitCode, out]).toEqual([1, '']);
  });

  test('no number of any size breaks a decision', async () => {
    const decision = await decide([
      '--retry-after',
      '9'.repeat(400),
      '--deadline',
      'none',
      '--preset',
      'header-first',
    ]);
    expect(decision).toMatchObject({ decision: 'WAIT_THEN_RECHECK', serverWait: { seconds: 2_147_483_648 } });
  });
});

describe('the policy of a host', () => {
  test('comes from a file, for the host of a URL', async () => {
    const path = join(folder, 'p.yaml');
    await writeFile(path, 'hosts: {a.test: {attempts: {max_total: 2}}}');
    const args = ['--status', '503', '--attempts', '2', '--policy', path];
    expect(await decide([...args, '--url', 'https://a.test/x'])).toMatchObject({
      stopReason: 'attempts',
      policy: `${path} for a.test`,
    });
    expect(await decide(args)).toMatchObject({ stopReason: null, policy: path });
    expect((await plan([...args, '--url', 'http://'])).exitCode).toBe(1);
    await writeFile(path, 'concurrency: 0');
    const refused = await plan(args);
    expect([refused.exitCode, refused.out]).toEqual([1, '']);
    expect(refused.error).toContain('p.yaml:1: concurrency: 0 must be a whole number from 1 to 1000');
  });
});

describe('showing off', () => {
  test('--self-test works every example anew and passes', async () => {
    const { out, exitCode } = await plan(['--self-test']);
    expect(exitCode).toBe(0);
    expect(out).toContain('8 passed, 0 failed');
    expect(out).not.toContain('FAIL');
    expect(JSON.parse((await plan(['--self-test', '--json'])).out)).toMatchObject({ passed: 8, failed: 0 });
  });

  test('--demo shows each kind of decision', async () => {
    const { out } = await plan(['--demo']);
    for (const name of ['WAIT_THEN_RECHECK', 'STOP', 'HOLD']) expect(out).toContain(name);
    const lines = (await plan(['--demo', '--json'])).out.trim().split('\n');
    expect(lines.map((line) => (JSON.parse(line) as { decision: string }).decision)).toHaveLength(6);
  });

  test('colours are used where they are wanted', async () => {
    const { out } = await runCommandForTest(planCommand, ['--status', '404'], { isColored: true });
    expect(out).toContain('\u001B[31mSTOP');
  });
});
