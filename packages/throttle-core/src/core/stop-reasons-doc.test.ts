import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { STOP_REASONS } from './stop-reason.ts';

const DOC = readFileSync(new URL('../../../../docs/stop-reasons.md', import.meta.url), 'utf8');

test('docs/stop-reasons.md lists every stop reason once, in the order of the code, and says what to do', () => {
  const rows = DOC.split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) => line.split('|').map((cell) => cell.trim()));
  expect(rows.map(([, reason]) => reason)).toEqual(STOP_REASONS.map((reason) => `\`${reason}\``));
  for (const [, reason, meaning = '', remedy = ''] of rows) {
    expect([reason, meaning.length > 10, remedy.length > 10]).toEqual([reason, true, true]);
  }
});
