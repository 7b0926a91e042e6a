import { assert, jsonValue, property } from 'fast-check';
import { expect, test } from 'vitest';
import { enterUrl } from './enter-url.ts';
import { parseUrlJob } from './url-job-schema.ts';

const entered = enterUrl({ url: 'http://a.test/x', batch: 'nightly' }, 1_768_478_400_000);
if (entered.kind === 'invalid') throw new Error('fixture');
const { job, id } = entered.value;
const hop = { url: 'http://b.test/', count: 1, visited: ['mPcZ7f0a2b3c4d5e'], asked: false };

function nested(depth: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < depth; level += 1) value = [value];
  return value;
}

test('what was entered is read back, also under its id and with a redirect', () => {
  expect(parseUrlJob(structuredClone(job), id)).toEqual({ kind: 'ok', value: job });
  expect(parseUrlJob({ ...job, hop }, id)).toEqual({ kind: 'ok', value: { ...job, hop } });
});

test.each([
  ['data', null],
  ['data', []],
  ['data', 'text'],
  ['data', { ...job, junk: nested(20_000) }],
  ['data', { ...job, junk: 'x'.repeat(2_000_000) }],
  ['data', { ...job, junk: Array.from({ length: 100_000 }, () => 0) }],
  ['v', {}],
  ['v', { ...job, v: 2 }],
  ['extra', { ...job, extra: 1 }],
  ['__proto__', JSON.parse(JSON.stringify(job).replace('{', '{"__proto__":{"a":1},'))],
  ['constructor', { ...job, constructor: { prototype: {} } }],
  ['url', { ...job, url: 'http://A.test/x' }],
  ['url', { ...job, url: 'http://u:p@a.test/' }],
  ['url', { ...job, url: 7 }],
  ['batch', { ...job, batch: 'a:b' }],
  ['method', { ...job, method: 'POST' }],
  ['priority', { ...job, priority: '50' }],
  ['notBeforeMs', { ...job, notBeforeMs: 1e300 }],
  ['notBeforeMs', { ...job, notBeforeMs: -1 }],
  ['headersRef', { ...job, headersRef: { authorization: 'x' } }],
  ['hop.url', { ...job, hop: { ...hop, url: 'file:///etc/passwd' } }],
  ['hop.count', { ...job, hop: { ...hop, count: 1e9 } }],
  ['hop.more', { ...job, hop: { ...hop, more: 1 } }],
])('a payload with a bad %s is refused by name', (field, data) => {
  expect(parseUrlJob(data)).toMatchObject({ kind: 'invalid', fault: { field } });
  expect(Object.prototype).not.toHaveProperty('a');
});

test('a payload under the id of another URL is refused', () => {
  expect(parseUrlJob({ ...job, url: 'http://a.test/y' }, id)).toMatchObject({ fault: { field: 'id' } });
});

test('whatever JSON comes in, it is an answer and no exception', () => {
  assert(
    property(jsonValue({ maxDepth: 8 }), (data) => {
      expect(parseUrlJob(data).kind).toBe('invalid');
    }),
  );
});

test('of a hostile payload no more is read than it takes to find out that it is one', () => {
  let reads = 0;
  const wide = new Proxy(
    Array.from({ length: 500_000 }, () => 0),
    {
      get: (target, key, receiver) => {
        reads += 1;
        return Reflect.get(target, key, receiver) as unknown;
      },
    },
  );
  expect(parseUrlJob({ ...job, junk: wide })).toMatchObject({ fault: { field: 'data' } });
  expect(reads).toBeLessThan(70_000);
});
