import { expect, test } from 'vitest';
import { ANSWER_ROWS, type AnswerRow } from './answer-outcomes.ts';
import { FAULT_ROWS, type FaultRow } from './fault-outcomes.ts';
import { OUTCOME_CLASSES, type Verdict } from './outcome.ts';
import { tableBetweenMarks } from '../testing/docs-table.ts';

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
  expect(tableBetweenMarks('outcomes.md', 'answers')).toEqual(ANSWER_ROWS.map(answerCells));
});

test('docs/outcomes.md lists the failures as the code decides them, in the same order', () => {
  expect(tableBetweenMarks('outcomes.md', 'failures')).toEqual(FAULT_ROWS.map(faultCells));
});

test('docs/outcomes.md explains every class', () => {
  expect(tableBetweenMarks('outcomes.md', 'classes').map(([name]) => name)).toEqual(OUTCOME_CLASSES);
});
