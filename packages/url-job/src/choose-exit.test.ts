import { expect, test } from 'vitest';
import { chooseExit, type ProxyPool } from './choose-exit.ts';

const pool = (sticky: ProxyPool['sticky'], proxies: readonly string[] = ['p1', 'p2', 'p3']): ProxyPool => ({
  proxies,
  sticky,
});
const ask = (job: string, host = 'a.test', batch = 'nightly') => ({ job, host, batch });
const jobs = Array.from({ length: 300 }, (_, i) => ask(`job-${i}`));

test.each(['host', 'job', 'none'] as const)(
  'sticky %s: a job leaves by the same door every time',
  (sticky) => {
    for (const job of jobs) expect(chooseExit(pool(sticky), job)).toEqual(chooseExit(pool(sticky), job));
  },
);

test('jobs spread over all proxies, and one that is taken away moves only its own', () => {
  const before = jobs.map((job) => chooseExit(pool('none'), job).proxy);
  for (const proxy of ['p1', 'p2', 'p3']) {
    expect(before.filter((chosen) => chosen === proxy).length).toBeGreaterThan(60);
  }
  const after = jobs.map((job) => chooseExit(pool('none', ['p1', 'p3']), job).proxy);
  expect(before.filter((proxy, i) => proxy !== 'p2' && proxy !== after[i])).toEqual([]);
});

test('sticky by host: one exit and one session for all jobs of a batch at that host', () => {
  const exits = new Set(jobs.map((job) => JSON.stringify(chooseExit(pool('host'), job))));
  expect(exits.size).toBe(1);
  const elsewhere = chooseExit(pool('host'), ask('job-1', 'b.test'));
  expect(elsewhere.session).not.toBe(chooseExit(pool('host'), ask('job-1')).session);
});

test('sticky by job: a session of its own for each', () => {
  expect(new Set(jobs.map((job) => chooseExit(pool('job'), job).session)).size).toBe(300);
});
