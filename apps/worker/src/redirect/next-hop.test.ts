import { expect, test } from 'vitest';
import { type HopPosition, nextHop, urlFingerprint } from './next-hop.ts';

const start = (url: string): HopPosition => ({ url, hops: 0, visited: [urlFingerprint(url)] });

test('a redirect goes one hop further and remembers where it was', () => {
  const verdict = nextHop(start('http://a.test/'), 'http://b.test/', 5);
  expect(verdict).toEqual({
    kind: 'hop',
    next: {
      url: 'http://b.test/',
      hops: 1,
      visited: [urlFingerprint('http://a.test/'), urlFingerprint('http://b.test/')],
    },
  });
});

test.each([
  ['to itself', 'http://a.test/x', 'http://a.test/x'],
  ['between spellings of a percent escape', 'http://a.test/a%2Cb', 'http://a.test/a%2cb'],
  ['between a character and its escape', 'http://a.test/~ann', 'http://a.test/%7eann'],
])('a redirect %s is a loop', (_name, from, to) => {
  expect(nextHop(start(from), to, 5)).toMatchObject({ kind: 'stop', reason: 'redirect_loop' });
});

test('a loop over several URLs is found when it closes', () => {
  const first = nextHop(start('http://a.test/'), 'http://b.test/', 5);
  if (first.kind !== 'hop') throw new Error('expected a hop');
  expect(nextHop(first.next, 'http://a.test/', 5)).toMatchObject({ kind: 'stop', reason: 'redirect_loop' });
});

test.each([
  { hopsMax: 0, followed: 0 },
  { hopsMax: 1, followed: 1 },
  { hopsMax: 5, followed: 5 },
])('follows at most $hopsMax redirects', ({ hopsMax, followed }) => {
  let position = start('http://a.test/0');
  let count = 0;
  for (let step = 1; step < 20; step += 1) {
    const verdict = nextHop(position, `http://a.test/${step}`, hopsMax);
    if (verdict.kind === 'stop') break;
    position = verdict.next;
    count += 1;
  }
  expect(count).toBe(followed);
});

test.each([
  { from: 'https://a.test/', to: 'http://a.test/', allowed: false },
  { from: 'http://a.test/', to: 'https://a.test/', allowed: true },
  { from: 'https://a.test/', to: 'https://b.test/', allowed: true },
])('from $from to $to is allowed: $allowed', ({ from, to, allowed }) => {
  expect(nextHop(start(from), to, 5).kind === 'hop').toBe(allowed);
});
