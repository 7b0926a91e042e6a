import { type StoppedEntry, stoppedFields } from '@holdoff/url-job';
import { expect, test } from 'vitest';
import { readStopped, type StoppedFilter } from './read-stopped.ts';

const ANY: StoppedFilter = { batch: null, reason: null, host: null };

/** A stream with ids `1-0` and up that answers XREVRANGE as Redis does. */
function streamOf(entries: readonly (readonly string[])[]): {
  xrevrange: (
    key: string,
    end: string,
    start: string,
    count: 'COUNT',
    most: number | string,
  ) => Promise<never>;
  trips: number;
} {
  const stream = {
    trips: 0,
    xrevrange: async (_: string, end: string, __: string, ___: 'COUNT', most: number | string) => {
      stream.trips += 1;
      const below = end === '+' ? entries.length + 1 : Number(end.slice(1).split('-')[0]);
      const page = entries.map((fields, at) => [`${at + 1}-0`, fields]).filter((__, at) => at + 1 < below);
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- as ioredis types it
      return page.toReversed().slice(0, Number(most)) as never;
    },
  };
  return stream;
}

function entry(job: string, over: Partial<StoppedEntry> = {}): readonly string[] {
  const rest = { status: 0, detail: '', attempts: 1, at: '2026-01-15T12:00:00Z', headersRef: null };
  const same = { method: 'GET', priority: 50, url: `https://a.test/${job}`, ...rest } as const;
  return stoppedFields({ key: `${job}.1`, job, batch: 'b', host: 'a.test', reason: 'dns', ...same, ...over });
}

async function read(stream: ReturnType<typeof streamOf>, filter = ANY): Promise<readonly StoppedEntry[]> {
  const read: StoppedEntry[] = [];
  for await (const entry of readStopped(stream as never, 's', filter)) read.push(entry);
  return read;
}

test('gives the newest first, over as many pages as there are', async () => {
  const stream = streamOf(Array.from({ length: 2_500 }, (_, at) => entry(`j_${at}`)));
  const seen = await read(stream);
  expect(seen.map(({ job }) => job)).toEqual(Array.from({ length: 2_500 }, (_, at) => `j_${2_499 - at}`));
  expect(stream.trips).toBe(3);
});

test('of a job that was recorded twice the newest entry counts, also for the filter', async () => {
  const stream = streamOf([entry('j_1', { reason: 'dns' }), entry('j_1', { reason: 'deadline' })]);
  expect((await read(stream)).map(({ reason }) => reason)).toEqual(['deadline']);
  expect(await read(stream, { ...ANY, reason: 'dns' })).toEqual([]);
});

test.each([
  [{ ...ANY, batch: 'c' }, ['j_2']],
  [{ ...ANY, reason: 'tls' }, ['j_3']],
  [{ ...ANY, host: 'b.test' }, ['j_4']],
  [{ batch: 'b', reason: 'dns', host: 'a.test' }, ['j_1']],
])('filters by %j', async (filter, jobs) => {
  const stream = streamOf([
    entry('j_1'),
    ['foreign', 'entry'],
    entry('j_2', { batch: 'c' }),
    entry('j_3', { reason: 'tls' }),
    entry('j_4', { host: 'b.test' }),
  ]);
  expect((await read(stream, filter)).map(({ job }) => job)).toEqual(jobs);
});
