import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { READY_SCENARIOS } from '../simulate/ready-scenarios.ts';
import { parseScenario } from '../simulate/scenario-file.ts';
import { simulateCommand } from './simulate.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdoff-simulate-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function run(...args: string[]): Promise<string> {
  const printed: string[] = [];
  const command = simulateCommand((text) => printed.push(text))
    .exitOverride()
    .configureOutput({ writeErr: () => {} });
  await command.parseAsync(args, { from: 'user' });
  return printed.join('');
}

async function json(...args: string[]): Promise<Record<string, unknown>> {
  return JSON.parse(await run(...args, '--json')) as Record<string, unknown>;
}

async function file(text: string): Promise<string> {
  const path = join(folder, 'scenario.yaml');
  await writeFile(path, text);
  return path;
}

describe('holdoff simulate', () => {
  test('without arguments it plays a ready scenario, with a chart and a line per host', async () => {
    const text = await run();
    expect(text).toContain('300 of 300 done');
    expect(text).toContain('pages per second');
    expect(text).toMatch(/slow +300 +300/u);
  });

  test('the same seed prints the same, another seed something else', async () => {
    const [first, again, other] = [
      await run('--seed', '5'),
      await run('--seed', '5'),
      await run('--seed', '6'),
    ];
    expect(again).toBe(first);
    expect(other).not.toBe(first);
  });

  test('flags describe an origin and a fleet', async () => {
    const result = await json(
      '--rate',
      '5',
      '--limiter',
      'fixed_window',
      '--window',
      '10',
      '--hosts',
      '3',
      '--urls',
      '40',
    );
    expect(result).toMatchObject({ urls: 120, done: 120, waiting: 0 });
    expect((result['hosts'] as { limitPerSecond: number }[]).map((host) => host.limitPerSecond)).toEqual([
      5, 5, 5,
    ]);
  });

  test('a file says everything, and flags change what is theirs', async () => {
    const path = await file(`
urls: 20
hosts: { b: { urls: 7, learnedPerSecond: 4 } }
policy: { preset: balanced, concurrency: 2 }
origin:
  hosts:
    - { name: a, limiter: { kind: token_bucket, perSecond: 5 } }
    - { name: b }
`);
    expect(await json(path)).toMatchObject({ urls: 27, done: 27 });
    expect(await json(path, '--urls', '50', '--tokens', '3')).toMatchObject({
      urls: 57,
      tokens: { total: 3 },
    });
  });

  test('a policy file changes the run', async () => {
    const policy = join(folder, 'policy.yaml');
    await writeFile(policy, 'preset: balanced\npace:\n  rate: 2/s\n');
    const result = await json('--limiter', 'none', '--urls', '100', '--policy', policy);
    expect(result['finishedMs']).toBeGreaterThan(49_000);
    expect(result['throttled']).toBe(0);
  });

  test.each([
    ['an unknown key', 'urlz: 3', /urlz/u],
    ['a wrong type', 'urls: many', /urls: /u],
    ['a number out of range', 'fleet: { workers: 0 }', /fleet\.workers/u],
    ['an unknown origin', 'origin: nowhere', /no ready origin "nowhere"/u],
    [
      'a fault in the origin',
      'origin: { hosts: [{ name: a, limiter: { kind: token_bucket } }] }',
      /perSecond/u,
    ],
    ['a fault in the policy', 'policy: { concurrency: lots }', /concurrency/u],
    ['a host that is not there', 'hosts: { ghost: { urls: 1 } }', /no host of this name/u],
    [
      'an answer that needs a socket',
      'origin: { hosts: [{ name: a, rules: [{ answer: { kind: bomb, encoding: gzip } }] }] }',
      /bomb/u,
    ],
    ['a list', '- 1', /./u],
  ])('%s is refused by name', async (_what, text, message) => {
    await expect(run(await file(text))).rejects.toThrow(message);
  });

  test('a missing file, an origin described twice and a bad number are refused', async () => {
    await expect(run(join(folder, 'nothing.yaml'))).rejects.toThrow(/nothing\.yaml/u);
    await expect(run('cold', '--rate', '3')).rejects.toThrow(/give one of them/u);
    await expect(run('--workers', '0')).rejects.toThrow(/at least 1/u);
    await expect(run('--latency', '90-10')).rejects.toThrow(/from-to/u);
  });
});

test.each(Object.keys(READY_SCENARIOS))('the ready scenario %s is valid', (name) => {
  expect(parseScenario(READY_SCENARIOS[name], name).about).not.toBe('');
});

test.each([
  ['urls: [1', /scenario\.yaml: Flow sequence .*line 1/u],
  ['- 1', /scenario\.yaml: must be a mapping/u],
  [
    'origin: { hosts: [{ name: a, limiter: { kind: bucket } }] }',
    /scenario\.yaml: .*hosts\.0\.limiter\.kind: .*'token_bucket'/u,
  ],
  ['policy: { pace: { interval: 5 } }', /scenario\.yaml \(policy\):2: pace\.interval: 5 must be a duration/u],
])('a fault is told with its file, its place and the rule: %s', async (text, message) => {
  await expect(run(await file(text))).rejects.toThrow(message);
});

test('a name that is none says which there are', async () => {
  await expect(run('nosuch')).rejects.toThrow(
    /nosuch: there is no such file; ready scenarios are .*halving/u,
  );
});

test('the scenario in the docs is valid', async () => {
  const docs = await readFile(new URL('../../../../docs/simulate.md', import.meta.url), 'utf8');
  const scenario = /```yaml\n([\s\S]*?)```/u.exec(docs)?.[1] ?? '';
  const result = await json(await file(scenario), '--urls', '50');
  expect(result).toMatchObject({ urls: 350, done: 350 });
});
