import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { ANSWER_ROWS, type AnswerRow } from './answer-outcomes.ts';
import { FAULT_ROWS, type FaultRow } from './fault-outcomes.ts';
import { OUTCOME_CLASSES, type Verdict } from './outcome.ts';

const DOC = readFileSync(new URL('../../../../docs/outcomes.md', import.meta.url), 'utf8');

/** The table between `<!-- name -->` and `<!-- /name -->`, cell by cell: padding is the formatter's affair. */
function tableIn(name: string): readonly (readonly string[])[] {
  const [, block = ''] = DOC.split(new RegExp(`<!-- /?${name} -->`, 'u'));
  return block
    .split('\n')
    .filter((line) => line.startsWith('|') && !/^\|[\s|:-]+\|$/u.test(line))
    .slice(1)
    .map((line) =>
      line
        .slice(1, -1)
        .split('|')
        .map((cell) => cell.trim()),
    );
}

function verdictCells({ class: kind, source, stop, why }: Verdict): readonly string[] {
  return [kind, source, stop === null ? '' : `\`${stop}\``, why];
}

function faultCells(row: FaultRow): readonly string[] {
  const codes = row.codes.map((code) => `\`${code}\``).join(' ');
  const phases = row.phases === null ? '' : `during ${row.phases.join(', ')}`;
  const proxied = row.proxied ? 'through a proxy' : '';
  return [row.when, [codes, phases, proxied].filter((part) => part !== '').join(' '), ...verdictCells(row)];
}

function answerCells(row: AnswerRow): readonly string[] {
  return [row.when, ...verdictCells(row)];
}

test('docs/outcomes.md lists the answers as the code decides them, in the same order', () => {
  expect(tableIn('answers')).toEqual(ANSWER_ROWS.map(answerCells));
});

test('docs/outcomes.md lists the failures as the code decides them, in the same order', () => {
  expect(tableIn('failures')).toEqual(FAULT_ROWS.map(faultCells));
});

test('docs/outcomes.md explains every class', () => {
  expect(tableIn('classes').map(([name]) => name)).toEqual(OUTCOME_CLASSES);
});
