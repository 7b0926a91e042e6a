import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { buildProgram } from './program.ts';
import type { OriginStats } from './start-sample-origin.ts';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sample-origin-'));
});
afterAll(() => rm(folder, { recursive: true }));

/** Runs the command line in this process; `meanwhile` runs between ready and end. */
async function run(
  args: readonly string[],
  meanwhile: (ready: string) => Promise<void> = async () => undefined,
): Promise<readonly string[]> {
  const printed: string[] = [];
  const asked = Promise.withResolvers<void>();
  const program = buildProgram({
    print: (text) => {
      printed.push(text);
      if (printed.length > 1) return;
      void meanwhile(text).then(asked.resolve, asked.reject);
    },
    asked: asked.promise,
  })
    .exitOverride()
    .configureOutput({ writeErr: () => undefined });
  await program.parseAsync(args, { from: 'user' });
  return printed;
}

async function described(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text);
  return path;
}

test('with --json the first line says where the hosts are and the last what they saw', async () => {
  const file = await described(
    'one.yaml',
    'hosts:\n  - name: shop\n    limiter: { kind: token_bucket, perSecond: 1 }\n',
  );
  const printed = await run(['--file', file, '--json'], async (ready) => {
    const { hosts } = JSON.parse(ready) as { hosts: { shop: string } };
    expect((await fetch(hosts.shop)).status).toBe(200);
    expect((await fetch(hosts.shop)).status).toBe(429);
  });
  expect(printed).toHaveLength(2);
  const stats = JSON.parse(printed[1] ?? '') as OriginStats;
  expect(stats.hosts[0]).toMatchObject({ host: 'shop', requests: 2, served: 1, throttled429: 1 });
});

test('a JSON description with hosts in numbers is read, and ends with a table for people', async () => {
  const file = await described('two.json', '{"hosts": [{"name": "h", "count": 2}]}');
  const printed = await run(['--file', file], async (ready) => {
    const url = /h-2\s+(http:\S+)/.exec(ready)?.[1] ?? '';
    expect((await fetch(url)).status).toBe(200);
  });
  expect(printed[1]).toMatch(/^host +requests .*\nh-2 +1 +1 +0 /);
});

test.each<[string, () => Promise<readonly string[]>, RegExp]>([
  ['a missing file', async () => ['-f', join(folder, 'gone.yaml')], /ENOENT.*gone\.yaml/],
  ['a binary file', async () => ['-f', await described('b.yaml', '\u0000\u0001\u007fELF')], /b\.yaml: /],
  ['broken YAML', async () => ['-f', await described('c.yaml', 'hosts: [')], /c\.yaml: /],
  ['a YAML bomb', async () => ['-f', await described('d.yaml', yamlBomb())], /d\.yaml: /],
  [
    'an unknown key',
    async () => ['-f', await described('e.yaml', 'hosts: [{name: a, limits: 1}]')],
    /limits/,
  ],
  ['an unknown scenario', async () => ['-s', 'nope'], /Allowed choices/],
  ['a port out of range', async () => ['-p', '70000'], /0 to 65535/],
  ['a port that is no number', async () => ['-p', '1e3'], /0 to 65535/],
  ['a scenario and a file', async () => ['-s', 'demo', '-f', 'x'], /cannot be used with/],
  ['a log file that cannot be written', async () => ['--log-file', join(folder, 'no', 'log')], /ENOENT/],
])('%s is refused in one line', async (_name, args, fault) => {
  const error: unknown = await run(await args()).catch((caught: unknown) => caught);
  expect(String(error)).toMatch(fault);
  expect(String(error).trimEnd().split('\n')).toHaveLength(1);
});

function yamlBomb(): string {
  const levels = Array.from({ length: 9 }, (_, n) => `l${n + 1}: &l${n + 1} [${`*l${n},`.repeat(9)}]`);
  return `l0: &l0 [x]\n${levels.join('\n')}\nhosts: *l9\n`;
}
