import { expect, test } from 'vitest';
import { isMet } from '../../bench/harness/bench.ts';
import { idealSeconds } from '../../bench/harness/ideal.ts';
import { benchmarkReport } from '../../bench/harness/report.ts';
import type { KeptResult } from '../../bench/harness/results.ts';
import { markdownTable, showCell } from '../../bench/harness/table.ts';

const KEPT: KeptResult = {
  bench: 'sample',
  about: 'What is measured.',
  at: '2026-06-15T12:00:00.000Z',
  commit: 'abc1234+',
  machine: '2 x CPU',
  node: '24.0.0',
  seconds: 12.4,
  loadBefore: 0.1,
  columns: ['client', 'URLs/s'],
  rows: [
    ['ours', 1234.5],
    ['theirs', null],
  ],
  figures: [
    { name: 'ratio', value: 0.5, unit: '', target: { atLeast: 0.7 } },
    { name: 'refused', value: 0.5, unit: '%', target: { atMost: 0.7 } },
    { name: 'lost', value: null, unit: '', target: { atMost: 0 } },
    { name: 'memory', value: 10, unit: 'MiB' },
  ],
  notes: ['A note.'],
};

test('a figure is held against its target from the right side, and a missing one is not passed', () => {
  expect(KEPT.figures.map(isMet)).toEqual([false, true, null, null]);
  expect(isMet({ name: '', value: 0.7, unit: '', target: { atLeast: 0.7 } })).toBe(true);
  expect(isMet({ name: '', value: 0, unit: '', target: { atMost: 0 } })).toBe(true);
});

test('the report shows missed and unmeasured targets as such, with machine, date and commit', () => {
  const report = benchmarkReport([KEPT]);
  expect(report).toMatch(/\| sample +\| +ratio \| +0\.5 \| +≥ 0\.7 \| +\*\*no\*\* \|/);
  expect(report).toMatch(/\| sample +\| +refused \| +0\.5 % \| +≤ 0\.7 % \| +yes \|/);
  expect(report).toMatch(/\| sample +\| +lost \| +– \| +≤ 0 \| +not measured \|/);
  expect(report).toContain('Measured 2026-06-15 at commit abc1234+ on 2 x CPU, Node 24.0.0, in 12 s.');
  expect(report).toContain('- A note.');
  expect(report).not.toContain('busy');
  expect(benchmarkReport([{ ...KEPT, loadBefore: 9 }])).toContain(
    '**The machine was busy with other work** (9',
  );
});

test.each<[string | number | null, string]>([
  [null, '–'],
  [0, '0'],
  [20_000, '20,000'],
  [1234.5, '1,235'],
  [12.345, '12.3'],
  [0.012345, '0.0123'],
  [Number.NaN, '–'],
  [Number.POSITIVE_INFINITY, '–'],
  ['text', 'text'],
])('the cell %j reads %s', (cell, shown) => {
  expect(showCell(cell)).toBe(shown);
});

test('columns are as wide as their widest cell', () => {
  expect(markdownTable(['a', 'bb'], [['long name', 1]])).toBe(
    '| a         |  bb |\n| --------- | --: |\n| long name |   1 |',
  );
});

test.each<[Parameters<typeof idealSeconds>[0], number]>([
  [{ kind: 'penalty', perSecond: 10, burst: 10, penaltyMs: 1 }, 29],
  [{ kind: 'token_bucket', perSecond: 10 }, 29.9],
  [{ kind: 'token_bucket', perSecond: 10, burst: 500 }, 0],
  [{ kind: 'fixed_window', limit: 100, windowMs: 5_000 }, 10],
  [{ kind: 'sliding_window', limit: 301, windowMs: 5_000 }, 0],
  [{ kind: 'none' }, 0],
])('300 requests to %j take at least %d s', (limiter, seconds) => {
  expect(idealSeconds(limiter, 300)).toBeCloseTo(seconds, 9);
});
