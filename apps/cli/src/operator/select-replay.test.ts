import type { JobEnd, JobId, JobSnapshot } from '@holdoff/throttle-core';
import type { StoppedEntry } from '@holdoff/url-job';
import { expect, test } from 'vitest';
import { selectReplay } from './select-replay.ts';

function stopped(job: string, reason: string): StoppedEntry {
  const url = `https://a.test/${job}`;
  const rest = { status: 0, detail: '', attempts: 1, at: '2026-01-15T12:00:00Z', headersRef: null };
  return {
    key: `${job}.1`,
    job,
    url,
    batch: 'b',
    host: 'a.test',
    reason,
    method: 'GET',
    priority: 50,
    ...rest,
  };
}

/** Newest first, as the stream is read. */
async function* newestFirst(...entries: readonly StoppedEntry[]): AsyncGenerator<StoppedEntry> {
  yield* entries;
}

function ledger(ends: Readonly<Record<string, JobEnd | null>>): {
  inspectJob: (job: JobId) => Promise<JobSnapshot | undefined>;
} {
  return {
    inspectJob: async (job) => {
      const ended = ends[job];
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what the selection reads of it
      return ended === undefined ? undefined : ({ job, ended } as unknown as JobSnapshot);
    },
  };
}

test('enters in the order in which they were stopped', async () => {
  const { entries } = await selectReplay(
    newestFirst(stopped('j_3', 'deadline'), stopped('j_2', 'dns'), stopped('j_1', 'tls')),
    null,
    ledger({}),
  );
  expect(entries.map(({ job }) => job)).toEqual(['j_1', 'j_2', 'j_3']);
});

test('the ledger has the last word: a job that went on after it was recorded is left out', async () => {
  const ends = {
    j_1: { kind: 'stopped', reason: 'deadline' },
    j_2: { kind: 'done' },
    j_3: null,
  } as const;
  const all = ['j_1', 'j_2', 'j_3', 'j_4'].map((job) => stopped(job, 'deadline'));
  const selection = await selectReplay(newestFirst(...all), null, ledger(ends));
  expect(selection.entries.map(({ job }) => job)).toEqual(['j_4', 'j_1']);
  expect(selection.changed).toBe(2);
});

test.each(['blocked', 'robots', 'cancelled'])('%s is entered only when it is named', async (reason) => {
  const entries = [stopped('j_1', reason), stopped('j_2', reason)];
  expect(await selectReplay(newestFirst(...entries), null, ledger({}))).toEqual({
    entries: [],
    named: { [reason]: 2 },
    changed: 0,
  });
  expect((await selectReplay(newestFirst(...entries), reason, ledger({}))).entries).toHaveLength(2);
});
