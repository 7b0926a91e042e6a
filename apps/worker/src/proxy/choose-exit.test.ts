import { expect, test } from 'vitest';
import type { HostKey } from '@holdoff/throttle-core';
import { chooseExit, type ExitRule, hostKeyThrough } from './choose-exit.ts';

const three = ['p1', 'p2', 'p3'];
const rule = (overrides: Partial<ExitRule>): ExitRule => ({
  host: '*',
  batch: null,
  proxies: three,
  sticky: 'none',
  ...overrides,
});
const ask = (job: string, host = 'a.test', batch = 'nightly') => ({ job, host, batch });

test('the first rule for host and batch decides, and none means going out directly', () => {
  const plan = [
    rule({ host: 'a.test', batch: 'nightly', proxies: ['p1'] }),
    rule({ host: '*.shop.test', proxies: ['p2'] }),
    rule({ host: 'direct.test', proxies: [] }),
    rule({ host: '*', batch: 'weekly', proxies: ['p3'] }),
  ];
  const proxyOf = (host: string, batch: string) => chooseExit(plan, ask('j', host, batch))?.proxy ?? null;
  expect(proxyOf('a.test', 'nightly')).toBe('p1');
  expect(proxyOf('a.test', 'weekly')).toBe('p3');
  expect(proxyOf('a.test', 'other')).toBeNull();
  expect(proxyOf('x.shop.test', 'other')).toBe('p2');
  expect(proxyOf('shop.test', 'other')).toBeNull();
  expect(proxyOf('notshop.test', 'other')).toBeNull();
  expect(proxyOf('direct.test', 'weekly')).toBeNull();
});

test('a job leaves by the same door every time it is asked for', () => {
  const plan = [rule({ sticky: 'job' })];
  for (let i = 0; i < 50; i += 1) {
    const first = chooseExit(plan, ask(`job-${i}`));
    expect(chooseExit(plan, ask(`job-${i}`))).toEqual(first);
  }
});

test('jobs spread over all proxies, and one that is taken away moves only its own', () => {
  const jobs = Array.from({ length: 300 }, (_, i) => ask(`job-${i}`));
  const before = jobs.map((job) => chooseExit([rule({})], job)?.proxy);
  for (const proxy of three) expect(before.filter((chosen) => chosen === proxy).length).toBeGreaterThan(60);
  const after = jobs.map((job) => chooseExit([rule({ proxies: ['p1', 'p3'] })], job)?.proxy);
  const moved = before.filter((proxy, i) => proxy !== 'p2' && proxy !== after[i]);
  expect(moved).toEqual([]);
});

test('sticky by host: one exit for all jobs of a batch at that host', () => {
  const plan = [rule({ sticky: 'host' })];
  const exits = new Set(
    Array.from({ length: 50 }, (_, i) => JSON.stringify(chooseExit(plan, ask(`job-${i}`)))),
  );
  expect(exits.size).toBe(1);
});

test('a host through an exit is a throttling scope of its own', () => {
  expect(hostKeyThrough('a.test' as HostKey, { proxy: 'p1', session: 's' })).toBe('a.test:via:p1');
  expect(hostKeyThrough('a.test' as HostKey, null)).toBe('a.test');
});
