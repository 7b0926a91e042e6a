import { expect, test } from 'vitest';
import { createPlainView, wrap } from './progress-view.ts';
import type { RunProgress } from './watch-batch.ts';

test.each([
  ['a line that fits stays one', 'one two', 7, 'one two'],
  ['a longer one is broken between words', 'one two three', 9, 'one two\nthree'],
  ['a word that is longer than a line stays whole', 'a verylongword b', 6, 'a\nverylongword\nb'],
  ['colours take no room', '\u001B[1mone\u001B[22m two', 7, '\u001B[1mone\u001B[22m two'],
])('%s', (_name, line, columns, wrapped) => {
  expect(wrap(line, columns)).toBe(wrapped);
});

function progress(done: number, more: Partial<RunProgress> = {}): RunProgress {
  return { total: 3, done, stopped: 0, batch: undefined, hosts: [], hostsMore: 0, elsewhere: 0, ...more };
}

function view(): { readonly lines: string[]; showAt: (atMs: number, seen: RunProgress) => void } {
  const lines: string[] = [];
  let now = 0;
  const plain = createPlainView(
    (line) => lines.push(line),
    2_000,
    15_000,
    () => now,
  );
  return {
    lines,
    showAt: (atMs, seen) => {
      now = atMs;
      plain.show(seen);
    },
  };
}

test('output that is no terminal gets a line when the counts have changed, at most every two seconds', () => {
  const { lines, showAt } = view();
  showAt(0, progress(0));
  showAt(1_000, progress(1));
  showAt(2_000, progress(2));
  showAt(10_000, progress(2));
  expect(lines).toEqual(['0/3 ended: 0 done, 0 stopped, 3 to go', '2/3 ended: 2 done, 0 stopped, 1 to go']);
});

test('a run that stands still says every fifteen seconds what it waits for', () => {
  const { lines, showAt } = view();
  showAt(0, progress(2));
  const host = { host: 'slow.example', waiting: 1, inFlight: 0, cause: 'the server said wait: 40 s' };
  showAt(14_999, progress(2, { hosts: [host] }));
  showAt(15_000, progress(2, { hosts: [host] }));
  showAt(30_000, progress(2, { elsewhere: 1 }));
  expect(lines.slice(1)).toEqual([
    '2/3 ended: 2 done, 0 stopped, 1 to go (slow.example: the server said wait: 40 s)',
    '2/3 ended: 2 done, 0 stopped, 1 to go (1 waits for a back-off of its own, or for a worker)',
  ]);
});
