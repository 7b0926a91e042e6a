import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { printSummary, summarize } from './run-summary.ts';

function summary(refused: number, stopped: Readonly<Record<string, number>> = {}): string {
  const facts = { name: 'b', urls: 2, refused, seconds: 1, results: '/somewhere' };
  const printed = printSummary({ ...summarize(undefined, facts), ...(refused > 0 ? {} : { stopped }) });
  return stripVTControlCharacters(printed);
}

test('a run without stopped URLs says where its results are, and nothing of reasons', () => {
  expect(summary(0)).toContain('results  /somewhere/results.jsonl');
  expect(summary(0)).not.toContain('reasons');
});

test('stopped URLs, those refused at the start included, come with where to read on', () => {
  expect(summary(3)).toMatch(/stopped +3 +invalid_url 3/);
  expect(summary(3)).toContain('docs/stop-reasons.md');
});

test('an address that is not allowed comes with the flag that allows it', () => {
  expect(summary(0, { address_not_allowed: 2 })).toContain('--allow-network');
  expect(summary(0, { permanent: 2 })).not.toContain('--allow-network');
});
