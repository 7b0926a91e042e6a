import {
  explainReading,
  parseRetryAfterStrict,
  type WaitField,
  type WaitReading,
  waitReaderOf,
} from '@holdoff/throttle-core';
import { createColors } from 'picocolors';
import type { WaitQuestion } from './wait-question.ts';

export interface WaitAnswer {
  readonly strict: WaitReading;
  readonly lenient: WaitReading;
}

/** Reads one header by both parsers. The strict one knows Retry-After only: anything else is absent to it. */
export function answerQuestion(question: WaitQuestion): WaitAnswer {
  const { header, lines, receivedAtMs, dateLines, unit } = question;
  const field: WaitField = { lines, receivedAtMs, dateLines, quirk: unit };
  const strict: WaitReading = isRetryAfter(header) ? parseRetryAfterStrict(field) : { kind: 'absent' };
  return { strict, lenient: waitReaderOf(header)?.(field) ?? { kind: 'absent' } };
}

/** The answer as one JSON line: the kind, and the seconds with a delay only. */
export function jsonAnswer({ strict, lenient }: WaitAnswer): string {
  return JSON.stringify({ strict: jsonReading(strict), lenient: jsonReading(lenient) });
}

function jsonReading(reading: WaitReading): { readonly kind: string; readonly seconds?: number } {
  return reading.kind === 'delay' ? { kind: reading.kind, seconds: reading.seconds } : { kind: reading.kind };
}

/** The answer for people: what was asked, then one aligned line for each parser with its reason. */
export function printedAnswer(question: WaitQuestion, answer: WaitAnswer, isColored: boolean): string {
  const { bold, dim } = createColors(isColored);
  const { header, lines, receivedAtMs, dateLines, unit } = question;
  const asked =
    lines.length === 0
      ? [`${bold(header)}: ${dim('(absent)')}`]
      : lines.map((line) => `${bold(header)}: ${visible(line)}`);
  const facts = [
    `received  ${instantText(receivedAtMs)}`,
    ...dateLines.map((line) => `Date      ${visible(line)}`),
    ...(unit === null ? [] : [`unit      a bare number counts in ${unit}`]),
  ];
  const readings = [
    readingLine('strict', answer.strict, strictReason(question, answer.strict), receivedAtMs, isColored),
    readingLine('lenient', answer.lenient, lenientReason(question, answer.lenient), receivedAtMs, isColored),
  ];
  return [...asked, ...facts.map((fact) => dim(`  ${fact}`)), '', ...readings, ''].join('\n');
}

function strictReason({ header }: WaitQuestion, reading: WaitReading): string {
  return isRetryAfter(header) ? explainReading(reading) : 'reads Retry-After only';
}

function lenientReason({ header }: WaitQuestion, reading: WaitReading): string {
  const isKnown = waitReaderOf(header) !== undefined;
  return isKnown ? explainReading(reading) : 'this header says nothing about waiting';
}

function readingLine(
  parser: string,
  reading: WaitReading,
  reason: string,
  receivedAtMs: number,
  isColored: boolean,
): string {
  const { green, yellow, dim } = createColors(isColored);
  const paint = { delay: green, malformed: yellow, absent: dim }[reading.kind];
  const result = reading.kind === 'delay' ? `wait ${reading.seconds} s` : reading.kind;
  const until =
    reading.kind === 'delay' ? `; until ${instantText(receivedAtMs + reading.seconds * 1000)}` : '';
  return `  ${parser.padEnd(8)}  ${paint(result.padEnd(RESULT_WIDTH))}  ${reason}${until}`;
}

/** `wait 2147483648 s` is the longest result. */
const RESULT_WIDTH = 17;

function instantText(epochMs: number): string {
  const date = new Date(epochMs);
  return Number.isNaN(date.getTime()) ? `${epochMs} ms since 1970` : date.toISOString();
}

/** A value as it is, with what a terminal would act on or not show made visible. */
function visible(text: string): string {
  return text === ''
    ? '(empty)'
    : text.replaceAll(/[^\u0021-\u007e\u00a1-\uffff ]/gu, escaped).replaceAll(/^ | $/gu, '\u2423');
}

function escaped(character: string): string {
  return `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;
}

function isRetryAfter(header: string): boolean {
  return header.toLowerCase() === 'retry-after';
}
