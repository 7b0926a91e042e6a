import type { JobId } from '@holdoff/throttle-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Fleet, startFleet } from '../story/fleet.ts';
import { notEndedOnce, overCap, overspent, pagesOf, sentTwice } from './oracle.ts';
import { quietEnd } from './quiet-end.ts';

/**
 * The queue's jobs and their ledgers are the record; everything else of ours that says who waits where can be made again
 * from them. Each of those keys is taken away while a real fleet works, more than once, and nobody may be lost.
 */
const CAP = 3;
const POLICY = `
preset: balanced
concurrency: ${CAP}
attempt_budget: 2s
headroom: 0s
retry_after: { pad: { at_least: 0s, wake_jitter: 0s } }
backoff: { base: 100ms, cap: 200ms }
batch_tokens: { share: 1 }
pace: { rate: 20/s, learn: off }
circuit: off
ramp: off
`;
const URLS = 40;
const LOSSES = 3;
/** Of one host. A lost lease lets another request in beside it, for as long as it lives. */
const OF_HOST = [
  ['lane', CAP],
  ['called', CAP],
  ['leases', 2 * CAP],
] as const;
const OF_ALL = ['wheel', 'deadlines', 'hosts', 'batches', 'sequence'] as const;

let fleet: Fleet;
beforeAll(async () => {
  fleet = await startFleet({
    policy: POLICY,
    workers: 2,
    environment: { SWEEP_EVERY_MS: '500' },
    hosts: [...OF_HOST.map(([name]) => name), ...OF_ALL, 'everything', 'held'].map((name) => ({
      name,
      latency: { kind: 'uniform' as const, minMs: 20, maxMs: 100 },
      rules: [
        { path: '/stop/*', times: 1, answer: { kind: 'status' as const, status: 429, retryAfterSeconds: 1 } },
        { path: '/fail/*', times: 1, answer: { kind: 'status' as const, status: 503 } },
      ],
    })),
  });
}, 200_000);
afterAll(() => fleet?.stop());

const seenOf = (host: string) => pagesOf(fleet.origin.log()).filter((request) => request.host === host);
const urlsOf = (host: string): string[] =>
  Array.from({ length: URLS }, (_, n) =>
    fleet.url(host, n % 25 === 9 ? `/stop/${n}` : n % 25 === 19 ? `/fail/${n}` : `/p/${n}`),
  );

/** Fetches pages of a host and takes keys away when a quarter, half and three quarters of them were asked for. */
async function withoutKeys(host: string, keys: readonly string[], cap: number) {
  const urls = urlsOf(host);
  await fleet.enqueue(host, urls);
  for (let loss = 1; loss <= LOSSES; loss += 1) {
    await fleet.until(`${host} is on its way`, async () =>
      seenOf(host).length >= (URLS * loss) / (LOSSES + 1) ? true : undefined,
    );
    await fleet.client.del(...keys);
  }
  const { ids, batch, jobs } = await quietEnd(fleet, host, urls, [host]);
  const seen = seenOf(host);
  const results = (await fleet.results(host)).map(({ job }) => job);
  const violations = [
    ...notEndedOnce(ids, jobs, batch, results),
    ...sentTwice(seen),
    ...overCap(seen, cap),
    ...overspent(seen, jobs, batch),
  ];
  return { violations, done: batch.jobs.done };
}

const UNHARMED = { violations: [], done: URLS };

/** Names in an index, as `holdoff status` reads them. */
async function knownHosts(): Promise<readonly string[]> {
  return (await fleet.gate.listHosts('', 10_000)).hosts;
}

test.each(OF_HOST)('a host whose %s are lost goes on', async (name, cap) => {
  expect(await withoutKeys(name, [`{holdoff}:${name}:${fleet.hostKey(name)}`], cap)).toEqual(UNHARMED);
});

test.each(OF_ALL)('a fleet that loses its %s goes on', async (name) => {
  expect(await withoutKeys(name, [`{holdoff}:${name}`], CAP)).toEqual(UNHARMED);
});

test('a fleet that loses all of them at once goes on, and knows its hosts and batches again', async () => {
  const host = fleet.hostKey('everything');
  const keys = [
    ...OF_HOST.map(([name]) => `{holdoff}:${name}:${host}`),
    ...OF_ALL.map((name) => `{holdoff}:${name}`),
  ];
  expect(await withoutKeys('everything', keys, 2 * CAP)).toEqual(UNHARMED);
  expect(await knownHosts()).toContain(host);
  expect(await fleet.gate.listBatches()).toContain('everything');
});

test('the deadline of a URL that waits at a held host is kept without the index of deadlines', async () => {
  const host = fleet.hostKey('held');
  await fleet.gate.hold(host, 'maintenance', 'owner');
  const url = fleet.url('held', '/p/held');
  await fleet.enqueue('held', [url], { deadline: '+6s' });
  await fleet.until('it waits', async () =>
    (await fleet.gate.inspectJob(fleet.jobId('held', url) as JobId))?.waiting === null ? undefined : true,
  );
  await fleet.client.del('{holdoff}:deadlines', '{holdoff}:wheel', `{holdoff}:lane:${host}`);
  await fleet.ended('held', 1, 20_000);
  expect(await fleet.results('held')).toMatchObject([{ outcome: 'stopped', reason: 'deadline', status: 0 }]);
  expect(seenOf('held')).toEqual([]);
});
