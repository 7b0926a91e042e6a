import { expect, test } from 'vitest';
import type { BatchId, BatchSnapshot } from '@holdoff/throttle-core';
import { watchBatch } from './watch-batch.ts';

type Look = readonly ['batch', total: number, ended: number] | readonly ['inbox', length: number];

/** Plays what is seen, in order; the watch must ask in this order and no further. */
async function watched(looks: readonly Look[]): Promise<{ readonly ended: boolean; readonly total: number }> {
  const left = [...looks];
  const next = (kind: Look[0]): Look => {
    const look = left.shift();
    if (look?.[0] !== kind) throw new Error(`asked for ${kind}, expected ${look?.[0] ?? 'nothing more'}`);
    return look;
  };
  const { ended, total } = await watchBatch({
    gate: {
      inspectBatch: async () => {
        const [, total, done] = next('batch') as Extract<Look, readonly ['batch', number, number]>;
        return { jobs: { total, done, stopped: 0 } } as BatchSnapshot;
      },
      inspectHost: async () => undefined,
    },
    batch: 'b' as BatchId,
    total: 1,
    inboxLength: async () => next('inbox')[1],
    hosts: [],
    hostsShown: 1,
    everyMs: 1,
    sleep: async () => undefined,
    show: () => undefined,
    stopped: () => false,
  });
  expect(left).toEqual([]);
  return { ended, total };
}

test.each<[string, readonly Look[], number]>([
  [
    'all ended and nothing was added',
    [
      ['batch', 1, 1],
      ['inbox', 0],
      ['batch', 1, 1],
    ],
    1,
  ],
  [
    'not entered yet',
    [
      ['batch', 0, 0],
      ['batch', 1, 1],
      ['inbox', 0],
      ['batch', 1, 1],
    ],
    1,
  ],
  [
    'a follow-up URL still in the inbox',
    [
      ['batch', 1, 1],
      ['inbox', 1],
      ['batch', 2, 2],
      ['inbox', 0],
      ['batch', 2, 2],
    ],
    2,
  ],
  [
    'a follow-up URL that was entered between two looks',
    [
      ['batch', 1, 1],
      ['inbox', 0],
      ['batch', 2, 1],
      ['batch', 2, 2],
      ['inbox', 0],
      ['batch', 2, 2],
    ],
    2,
  ],
])('%s', async (_, looks, total) => {
  expect(await watched(looks)).toEqual({ ended: true, total });
});

test('a batch that is cancelled meanwhile ends with the URLs that are in it', async () => {
  const seen = [
    { jobs: { total: 3, done: 1, stopped: 0 }, cancelled: false, movedOn: 0 },
    { jobs: { total: 3, done: 1, stopped: 1 }, cancelled: true, movedOn: 0 },
    { jobs: { total: 3, done: 1, stopped: 2 }, cancelled: true, movedOn: 0 },
  ];
  let looks = 0;
  const { ended, total } = await watchBatch({
    gate: {
      inspectBatch: async () => seen[Math.min(looks++, seen.length - 1)] as BatchSnapshot,
      inspectHost: async () => undefined,
    },
    batch: 'b' as BatchId,
    // Two of five were refused, since they came after the end.
    total: 5,
    inboxLength: async () => 0,
    hosts: [],
    hostsShown: 1,
    everyMs: 1,
    sleep: async () => undefined,
    show: () => undefined,
    stopped: () => looks > 20,
  });
  expect({ ended, total }).toEqual({ ended: true, total: 3 });
});
