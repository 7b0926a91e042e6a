import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Policy } from '../core/policy.ts';
import { PRESET_NAMES, PRESETS } from '../core/presets.ts';
import { FIELD_KEYS, FIELDS } from './fields.ts';
import type { Field } from './field.ts';
import { parsePolicyFile, type PolicyFile } from './parse-policy-file.ts';
import { policyOf, valuesOf } from './policy-values.ts';
import { printProblem } from './problem.ts';
import { resolvePolicy } from './resolve-policy.ts';

function valid(text: string): PolicyFile {
  const parsed = parsePolicyFile(text, 'p.yaml');
  if (parsed.kind === 'ok') return parsed.file;
  throw new Error(parsed.problems.map(printProblem).join('\n'));
}

function problems(text: string): string[] {
  const parsed = parsePolicyFile(text, 'p.yaml');
  return parsed.kind === 'ok' ? [] : parsed.problems.map(printProblem);
}

function policy(text: string): Policy {
  return resolvePolicy(valid(text), 'a.test').policy;
}

describe('presets', () => {
  test.for(PRESET_NAMES)('%s is put together again from its values', (name) => {
    expect(policyOf(valuesOf(PRESETS[name]))).toEqual(PRESETS[name]);
  });

  test.for(PRESET_NAMES)('%s named in a file is the policy of every host', (name) => {
    expect(resolvePolicy(valid(`preset: ${name}`), 'a.test').policy).toEqual(PRESETS[name]);
  });

  test('an empty file is the balanced preset', () => {
    for (const text of ['', '\n', '# nothing\n', '{}']) {
      expect(resolvePolicy(valid(text), 'a.test').policy).toEqual(PRESETS.balanced);
    }
  });

  test('every value of every preset is in range, and is read back as it is printed', () => {
    for (const name of PRESET_NAMES) {
      const values = valuesOf(PRESETS[name]);
      for (const key of FIELD_KEYS) {
        const field: Field<unknown> = FIELDS[key];
        const printed = field.print(values[key]);
        const written = /^(\[|-?\d+(\.\d+)?$|true$|false$)/.test(printed)
          ? (JSON.parse(printed.replaceAll(/[A-Z]+/g, '"$&"')) as unknown)
          : printed;
        expect([key, field.read(written)]).toEqual([key, values[key]]);
      }
    }
  });
});

describe('a field of each kind changes the policy', () => {
  test('durations, sizes, rates, numbers, words, lists and "none"', () => {
    expect(policy('retry_after: {in_place_max: 12s}').retryAfter.inPlaceMaxMs).toBe(12_000);
    expect(policy('retry_after: {host_pause_max: none}').retryAfter.hostPauseMaxMs).toBeNull();
    expect(policy('retry_after: {quirk: milliseconds}').retryAfter.quirk).toBe('milliseconds');
    expect(policy('body: {wire_max: 1MiB}').body.wireBytesMax).toBe(1_048_576);
    expect(policy('body: {content_types: [text/html, "image/*"]}').body.contentTypes).toEqual([
      'text/html',
      'image/*',
    ]);
    expect(policy('pace: {learn: {start: 6/m}}').pace.learn?.startPerSecond).toBe(0.1);
    expect(policy('methods: any').methods).toBe('any');
    expect(policy('methods: [HEAD]').methods).toEqual(['HEAD']);
    expect(policy('concurrency: 7').concurrency).toBe(7);
    expect(policy('deadline: 2h').deadline).toMatchObject({ jobMs: 7_200_000, required: false });
    expect(policy('deadline: required').deadline).toMatchObject({ jobMs: null, required: true });
    expect(policy('deadline: none').deadline).toMatchObject({ jobMs: null, required: false });
  });

  test('a pace is written as an interval or as a rate, which is never rounded up', () => {
    expect(policy('pace: {interval: 2s}').pace.intervalMs).toBe(2000);
    expect(policy('pace: {rate: 7/s}').pace.intervalMs).toBe(143);
    expect(policy('pace: {rate: 30/m}').pace.intervalMs).toBe(2000);
  });

  test('a group is switched off by a word, and on by a word or any of its fields', () => {
    expect(policy('circuit: off').circuit).toBeNull();
    expect(policy('pace: {learn: off}').pace.learn).toBeNull();
    expect(policy('ramp: off').ramp).toBeNull();
    expect(policy('host_tokens: off').hostTokens).toBeNull();
    expect(policy('batch_tokens: off').batchTokens).toEqual({ kind: 'off' });
    expect(policy('batch_tokens: explicit').batchTokens).toEqual({ kind: 'explicit' });
    expect(policy('batch_tokens: {share: 0.5}').batchTokens).toEqual({
      kind: 'share',
      share: 0.5,
      least: 10,
    });
    const strict = policy('preset: strict-budget\ncircuit: {open: 300s}\nramp: on');
    expect(strict.circuit).toEqual({ ...PRESETS.balanced.circuit, openMs: 300_000 });
    expect(strict.ramp).toEqual(PRESETS.balanced.ramp);
  });
});

describe('refusals name file, line, key, value and rule', () => {
  test.for([
    [
      'a wrong unit',
      'retry_after:\n  in_place_max: 30',
      'p.yaml:2: retry_after.in_place_max: 30 must be a duration with its unit, from 0s to 5m',
    ],
    [
      'a value out of range',
      'concurrency: 0',
      'p.yaml:1: concurrency: 0 must be a whole number from 1 to 1000',
    ],
    [
      'a fraction of a whole number',
      'concurrency: 1.5',
      'p.yaml:1: concurrency: 1.5 must be a whole number from 1 to 1000',
    ],
    [
      'an unknown word',
      'preset: fast',
      'p.yaml:1: preset: "fast" must be one of balanced, header-first, strict-budget',
    ],
    ['an unknown key', '\nretries: 3', 'p.yaml:2: retries: is not a known key'],
    [
      'an unknown key within',
      'backoff: {bases: 1s}',
      'p.yaml:1: backoff.bases: is not a known key of backoff',
    ],
    ['a scalar for a mapping', 'backoff: 3s', 'p.yaml:1: backoff: "3s" must be a mapping of keys to values'],
    [
      'a word that is no switch',
      'circuit: never',
      'p.yaml:1: circuit: "never" must be one of off, on, or a mapping',
    ],
    [
      'a bad value under a switch',
      'circuit:\n  growth: 0.5',
      'p.yaml:2: circuit.growth: 0.5 must be a number from 1 to 10',
    ],
    ['an unknown key under a switch', 'ramp: {to: 1}', 'p.yaml:1: ramp.to: is not a known key of ramp'],
    [
      'an item of a list',
      'methods: [GET, POST]',
      'p.yaml:1: methods: ["GET","POST"] must be a list of 1 to 2: one of GET, HEAD, or any',
    ],
    [
      'a port as a host',
      'hosts:\n  "a.test:80": {}',
      'p.yaml:2: hosts."a.test:80": the name must be a hostname without scheme, port and path, or *. and a hostname',
    ],
    [
      'a host with an empty entry',
      'hosts:\n  a.test:',
      'p.yaml:2: hosts."a.test": null must be a mapping of keys to values',
    ],
    [
      'a group without hosts',
      'groups: {g: {hosts: []}}',
      'p.yaml:1: groups.g.hosts: [] must name at least one host',
    ],
    [
      'a group name that could be a hostname',
      'groups: {g.test: {hosts: [a]}}',
      'p.yaml:1: groups."g.test": the name must be a group name of lower-case letters, digits and dashes, at most 63',
    ],
    [
      'a host twice in groups',
      'groups: {g: {hosts: [a.test]}, h: {hosts: [A.TEST]}}',
      'p.yaml:1: groups.h.hosts.0: "A.TEST" is in the group g already',
    ],
    [
      'a host twice in one group',
      'groups: {g: {hosts: [a.test, a.test.]}}',
      'p.yaml:1: groups.g.hosts.1: "a.test." is named twice',
    ],
    [
      'two spellings of one host',
      'hosts:\n  a.test: {}\n  A.test: {}',
      'p.yaml:3: hosts."A.test": is another spelling of a.test',
    ],
    [
      'a limit of its own for a grouped host',
      'groups: {g: {hosts: ["*.a.test"]}}\nhosts:\n  x.a.test: {concurrency: 9}',
      'p.yaml:3: hosts."x.a.test".concurrency: 9 is shared by the group g: set it there',
    ],
    [
      'both spellings of the pace',
      'pace:\n  interval: 1s\n  rate: 1/s',
      'p.yaml:3: pace.rate: is written as pace.interval too: keep one of the two',
    ],
    [
      'a base over its cap',
      'backoff:\n  base: 2m',
      'p.yaml:2: backoff.base: "2m" must be at most backoff.cap, which is 1m',
    ],
    [
      'a cap under its base',
      'backoff:\n  cap: 10ms',
      'p.yaml:2: backoff.cap: "10ms" must be at least backoff.base, which is 1s',
    ],
    [
      'no time for an attempt',
      'deadline: 30s',
      'p.yaml:1: deadline: "30s" leaves no time for an attempt: attempt_budget + headroom must be less than deadline',
    ],
    [
      'robots.txt ignored everywhere',
      'robots: {obey: false}',
      'p.yaml:1: robots: is an exception for named hosts: write it under hosts or groups',
    ],
    [
      'robots.txt ignored without a reason',
      'hosts: {a.test: {robots: {obey: false}}}',
      'p.yaml:1: hosts."a.test".robots.obey: false needs robots.reason and robots.expires: an exception from robots.txt is granted by someone, until a date',
    ],
    [
      'a date that does not exist',
      'hosts: {a.test: {robots: {expires: 2027-02-30}}}',
      'p.yaml:1: hosts."a.test".robots.expires: "2027-02-30" must be a date such as 2027-03-31, or 2027-03-31T12:00Z, or none',
    ],
    [
      'a spend limit of a host',
      'hosts: {a.test: {spend: {max_requests: 3}}}',
      'p.yaml:1: hosts."a.test".spend: is a limit of whole batches: write it at the top of the file',
    ],
    [
      'a cost limit without a price',
      'spend: {max_cost: 5}',
      'p.yaml:1: spend.max_cost: 5 can never be reached: set spend.price_per_gb or spend.price_per_1000_requests',
    ],
    [
      'a key written twice',
      'concurrency: 3\nconcurrency: 4',
      'p.yaml:2: concurrency: is written twice in the same mapping',
    ],
    ['a list instead of a mapping', '- a', 'p.yaml:1: ["a"] must be a mapping of keys to values'],
    ['an alias', 'backoff: &a {base: 1s}\nramp: *a', 'p.yaml:1: must not use aliases (*name)'],
    [
      'a key that the platform treats specially',
      'hosts:\n  __proto__: {concurrency: 1}',
      'p.yaml:2: __proto__: is not a known key',
    ],
  ] as const)('%s', ([, text, message]) => {
    expect(problems(text)).toContain(message);
  });

  test('syntax errors and unknown tags are problems, not exceptions', () => {
    expect(problems('a: [')[0]).toMatch(/^p\.yaml:1: /);
    expect(problems('a: 1\n---\nb: 2')[0]).toMatch(/^p\.yaml:\d: .*multiple documents/);
    expect(problems('concurrency: !much 3')[0]).toMatch(/^p\.yaml:1: .*tag/);
  });

  test('all problems come at once, by line, those between values too', () => {
    expect(
      problems(
        'retry_after:\n  defer_over: 10s\n  in_place_max: 1\nbackoff:\n  base: 2m\nx: 1\nhosts:\n  a.test: {y: 1}',
      ).map((line) => line.slice(0, line.indexOf(' ', 10))),
    ).toEqual([
      'p.yaml:2: retry_after.defer_over:',
      'p.yaml:3: retry_after.in_place_max:',
      'p.yaml:5: backoff.base:',
      'p.yaml:6: x:',
      'p.yaml:8: hosts."a.test".y:',
    ]);
  });

  test('a bad member of a group is left out, and the rest of the group is checked', () => {
    expect(
      problems('groups:\n  g:\n    hosts: ["a b", x.test]\nhosts:\n  x.test: {concurrency: 9}').map(
        (line) => line.split(': ')[1],
      ),
    ).toEqual(['groups.g.hosts.0', 'hosts."x.test".concurrency']);
  });

  test('a key that is a number or a list is no name', () => {
    expect(problems('? [a, b]\n: 1').length).toBeGreaterThan(0);
    expect(problems('5: 1')).toEqual(['p.yaml:1: 5: is not a known key']);
  });

  test('a rule between values is reported where it is broken, not at every host that inherits it', () => {
    expect(problems('backoff: {base: 2m}\nhosts: {a.test: {}, b.test: {concurrency: 2}}')).toHaveLength(1);
  });

  test('a long value is shortened, and a flood of problems is cut', () => {
    expect(problems(`preset: ${'x'.repeat(500)}`)[0]?.length).toBeLessThan(200);
    const many = Array.from({ length: 300 }, (_, index) => `key${index}: 1`).join('\n');
    expect(problems(many)).toHaveLength(100);
  });

  test('a file over 1 MiB is refused unread', () => {
    expect(problems(`# ${'x'.repeat(1024 * 1024)}`)).toEqual(['p.yaml:1: must be at most 1 MiB long']);
  });

  test('no text makes the reader throw', () => {
    const piece = fc.constantFrom(
      'a',
      ':',
      ' ',
      '\n',
      '- ',
      '{',
      '}',
      '[',
      '&x',
      '*x',
      '!',
      '"',
      '|',
      '\t',
      '0',
      '~',
      '?',
      '<<',
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.array(piece).map((pieces) => pieces.join('')),
        ),
        (text) => {
          expect(['ok', 'invalid']).toContain(parsePolicyFile(text, 'p.yaml').kind);
        },
      ),
      { numRuns: 500 },
    );
  });
});
