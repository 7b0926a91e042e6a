import { describe, expect, test } from 'vitest';
import { PRESETS } from '../core/presets.ts';
import { parsePolicyFile, type PolicyFile } from './parse-policy-file.ts';
import { hostKeyOf, resolvePolicy, spendPolicyOf } from './resolve-policy.ts';

function fileOf(text: string): PolicyFile {
  const parsed = parsePolicyFile(text, 'p.yaml');
  if (parsed.kind === 'ok') return parsed.file;
  throw new Error(JSON.stringify(parsed.problems));
}

const file = fileOf(`preset: header-first
concurrency: 1
groups:
  shop:
    hosts: [shop.test, "*.shop.test", "bücher.test"]
    concurrency: 2
    attempt_budget: 11s
hosts:
  "*.test": {concurrency: 3, attempt_budget: 12s}
  "*.b.test": {concurrency: 4}
  a.b.test: {concurrency: 5}
  x.shop.test: {proxy: pool-1, headers: set-1, allow_ports: [8080]}
`);

describe('precedence', () => {
  test.for([
    ['other.example', 1, 'file', 2],
    ['test', 1, 'file', 2],
    ['a.test', 3, '*.test', 9],
    ['b.test', 3, '*.test', 9],
    ['z.b.test', 4, '*.b.test', 10],
    ['q.z.b.test', 4, '*.b.test', 10],
    ['a.b.test', 5, 'a.b.test', 11],
    ['a.b.test.', 5, 'a.b.test', 11],
    ['xb.test', 3, '*.test', 9],
  ] as const)('%s has concurrency %d from %s', ([host, concurrency, layer, line]) => {
    const resolved = resolvePolicy(file, host);
    expect(resolved.policy.concurrency).toBe(concurrency);
    expect(resolved.origins.concurrency).toEqual({ layer, line });
  });

  test('what no entry sets comes from the preset', () => {
    const { policy, origins } = resolvePolicy(file, 'a.test');
    expect(policy.backoff).toEqual(PRESETS['header-first'].backoff);
    expect(origins['backoff.base']).toEqual({ layer: 'preset header-first', line: null });
  });

  test('an entry that does not set a value leaves it to the weaker ones', () => {
    const { policy, origins } = resolvePolicy(file, 'a.b.test');
    expect(policy.deadline.attemptMs).toBe(30_000);
    expect(resolvePolicy(file, 'a.test').policy.deadline.attemptMs).toBe(12_000);
    expect(origins.attempt_budget.layer).toBe('preset header-first');
  });
});

test('a label of one letter is a label', () => {
  const short = fileOf('hosts: {"*.b.c": {concurrency: 9}}');
  expect(resolvePolicy(short, 'a.b.c').policy.concurrency).toBe(9);
  expect(resolvePolicy(short, 'x.a.b.c').policy.concurrency).toBe(9);
  expect(resolvePolicy(short, 'b.c').policy.concurrency).toBe(4);
});

describe('groups', () => {
  test('limits of the shared scope come from the group, other values from the host entries too', () => {
    const { policy, origins } = resolvePolicy(file, 'y.shop.test');
    expect([policy.concurrency, origins.concurrency.layer]).toEqual([2, 'group shop']);
    expect([policy.deadline.attemptMs, origins.attempt_budget.layer]).toEqual([12_000, '*.test']);
  });

  test('settings of a member are its own', () => {
    const { settings, hostKey } = resolvePolicy(file, 'x.shop.test');
    expect(settings).toEqual({
      proxyRef: 'pool-1',
      throttleScope: 'host',
      headersRef: 'set-1',
      allowPorts: [8080],
      robotsException: null,
    });
    expect(hostKey).toBe('shop');
  });

  test('a member that is named exactly is not taken by the wider group', () => {
    const groups = fileOf('groups: {wide: {hosts: ["*.test"]}, one: {hosts: [a.b.test, "*.c.test"]}}');
    expect(
      ['x.test', 'a.b.test', 'b.test', 'x.c.test', 'test'].map((host) => resolvePolicy(groups, host).hostKey),
    ).toEqual(['wide', 'one', 'wide', 'one', 'test']);
  });
});

describe('the throttling scope of a URL', () => {
  test.for([
    ['http://EXAMPLE.test/', 'example.test'],
    ['https://example.test./path', 'example.test'],
    ['http://exampl%65.test/', 'example.test'],
    ['http://user:secret@example.test:8080/', 'example.test'],
    ['https://bücher.example/', 'xn--bcher-kva.example'],
    ['http://[::1]:8080/', '[::1]'],
    ['http://0x7f.1/', '127.0.0.1'],
    ['https://xn--bcher-kva.test/', 'shop'],
    ['https://a.shop.test:444/', 'shop'],
    ['https://shop.test/', 'shop'],
    ['https://notshop.test/', 'notshop.test'],
  ] as const)('%s belongs to %s', ([url, hostKey]) => {
    expect(hostKeyOf(url, file)).toBe(hostKey);
    expect(resolvePolicy(file, new URL(url).hostname).hostKey).toBe(hostKey);
  });

  test.for(['not a url', 'http://./', 'mailto:a@b.test'])('%s has none', (url) => {
    expect(() => hostKeyOf(url, file)).toThrow(TypeError);
  });
});

describe('robots exceptions and spending', () => {
  test('an exception carries its reason and its end', () => {
    const { settings } = resolvePolicy(
      fileOf('hosts: {a.test: {robots: {obey: false, reason: contract 12, expires: 2027-03-31T12:00Z}}}'),
      'a.test',
    );
    expect(settings.robotsException).toEqual({
      reason: 'contract 12',
      expiresAtMs: Date.UTC(2027, 2, 31, 12),
    });
  });

  test('a reason without a refusal changes nothing', () => {
    const text = 'hosts: {a.test: {robots: {obey: true, reason: old, expires: 2027-03-31}}}';
    expect(resolvePolicy(fileOf(text), 'a.test').settings.robotsException).toBeNull();
  });

  test('spend limits are counted in millionths', () => {
    const spend = spendPolicyOf(
      fileOf('spend: {max_bytes: 1GiB, max_requests: 5, max_cost: 2.5, price_per_gb: 3}'),
    );
    expect(spend).toEqual({
      limits: { bytesMax: 1_073_741_824, requestsMax: 5, costMicrosMax: 2_500_000 },
      microsPerGigabyte: 3_000_000,
      microsPerThousandRequests: 0,
    });
    expect(spendPolicyOf(fileOf('')).limits).toEqual({ bytesMax: 0, requestsMax: 0, costMicrosMax: 0 });
  });
});

describe('resolved policies', () => {
  test('hosts with the same entries share one frozen object', () => {
    const one = resolvePolicy(file, 'p.test');
    expect(resolvePolicy(file, 'q.test').policy).toBe(one.policy);
    expect(resolvePolicy(file, 'q.b.test').policy).not.toBe(one.policy);
    expect(Object.isFrozen(one.policy.retryAfter)).toBe(true);
    expect(Object.isFrozen(one.settings.allowPorts)).toBe(true);
  });

  test('a group switched on over a preset that has it off begins with the values of balanced', () => {
    const { origins } = resolvePolicy(fileOf('preset: strict-budget\ncircuit: {open: 300s}'), 'a.test');
    expect(origins['circuit.open']).toEqual({ layer: 'file', line: 2 });
    expect(origins['circuit.growth']).toEqual({ layer: 'preset balanced', line: null });
    expect(origins['backoff.base']).toEqual({ layer: 'preset strict-budget', line: null });
  });

  test('a look-up among thousands of host entries makes no new object', () => {
    const entries = Array.from({ length: 2000 }, (_, index) => `  h${index}.test: {concurrency: 2}`).join(
      '\n',
    );
    const large = fileOf(`hosts:\n${entries}`);
    const first = resolvePolicy(large, 'h1999.test').policy;
    for (let index = 0; index < 1000; index += 1) {
      if (resolvePolicy(large, 'h1999.test').policy !== first) throw new Error('resolved anew');
    }
    expect(first.concurrency).toBe(2);
  });
});
