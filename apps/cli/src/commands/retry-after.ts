import { fstatSync } from 'node:fs';
import { Command, InvalidArgumentError, Option } from 'commander';
import pc from 'picocolors';
import { readBoundedLines } from '@holdoff/service-runtime';
import type { UnitQuirk } from '@holdoff/throttle-core';
import { answerQuestion, jsonAnswer, printedAnswer } from '../retry-after/wait-answer.ts';
import {
  HEADER_RULE,
  INSTANT_RULE,
  parseInstant,
  parseQuestion,
  type QuestionFault,
  UNITS,
  type WaitQuestion,
} from '../retry-after/wait-question.ts';

/** What the command needs from its surroundings. */
export interface RetryAfterIo {
  /** Standard input where something may be waiting in it; null: a terminal, or nothing. */
  readonly input: AsyncIterable<Uint8Array | string> | null;
  /** Resolves when the text has been taken, so that a slow reader slows us down. */
  readonly write: (text: string) => Promise<void>;
  readonly nowMs: () => number;
  readonly isColored: boolean;
  readonly fail: (exitCode: number) => void;
}

/** A longer line is refused; what is left of it is not kept. */
const LINE_BYTES_MAX = 1_048_576;

interface Flags {
  readonly header?: string;
  readonly receivedAt?: number;
  readonly date?: string;
  readonly unit?: UnitQuirk;
  readonly json?: true;
}

/** `holdoff retry-after`: shows how a wait is read by both parsers, and why. Offline; sends nothing. */
export function retryAfterCommand(io: RetryAfterIo = processIo()): Command {
  return (
    new Command('retry-after')
      .summary('show how a wait is read by both parsers, and why')
      .description(DESCRIPTION)
      .argument('[values...]', 'the lines of the header, in order; none: the header is absent')
      .option('--header <name>', 'read this header instead of Retry-After', headerOption)
      .option('--received-at <instant>', 'when the response arrived (default: now)', instantOption)
      .option('--date <value>', "the response's Date header")
      .addOption(new Option('--unit <unit>', 'what a bare number counts in on this host').choices(UNITS))
      .option('--json', 'print one JSON object')
      // A value may begin with a minus sign: it is to be read, not taken for an option.
      .allowUnknownOption()
      .action(async (values: readonly string[], flags: Flags, command: Command) => {
        const unknown = values.find((value) => /^--[a-z]/iu.test(value));
        if (unknown !== undefined) command.error(`error: unknown option '${unknown}'`);
        await answer(io, values, flags);
      })
  );
}

// Commander wraps each paragraph to the terminal.
const DESCRIPTION = [
  'Shows how a wait is read by the strict and the lenient parser, and why. Sends nothing.',
  'With neither values nor options (--json aside), JSON lines are read from standard input, each {"header", "value", "receivedAt", "date", "unit"}. "value" is a string, null (absent) or an array of lines; all else is optional. Each line is answered by one JSON line, one that cannot be read by {"line", "error": {"field", "value", "rule"}}, and then the exit code is 1.',
  'A value may begin with a minus sign: holdoff retry-after -5',
].join('\n\n');

async function answer(io: RetryAfterIo, values: readonly string[], flags: Flags): Promise<void> {
  const { header, receivedAt, date, unit } = flags;
  const isAsked = values.length > 0 || [header, receivedAt, date, unit].some((flag) => flag !== undefined);
  if (!isAsked && io.input !== null && (await answerLines(io, io.input))) return;
  const question: WaitQuestion = {
    header: header ?? 'Retry-After',
    lines: values,
    receivedAtMs: receivedAt ?? io.nowMs(),
    dateLines: date === undefined ? [] : [date],
    unit: unit ?? null,
  };
  const answered = answerQuestion(question);
  const text = flags.json ? `${jsonAnswer(answered)}\n` : printedAnswer(question, answered, io.isColored);
  await io.write(text);
}

/** Answers line by line. False: there was no line at all. */
async function answerLines(io: RetryAfterIo, input: AsyncIterable<Uint8Array | string>): Promise<boolean> {
  let isEmpty = true;
  for await (const line of readBoundedLines(input, LINE_BYTES_MAX)) {
    isEmpty = false;
    if (line.kind === 'line' && line.text.trim() === '') continue;
    const reading =
      line.kind === 'line'
        ? parseQuestion(line.text, io.nowMs())
        : ({ kind: 'fault', fault: TOO_LONG } as const);
    if (reading.kind === 'question') {
      await io.write(`${jsonAnswer(answerQuestion(reading.question))}\n`);
    } else {
      io.fail(1);
      await io.write(`${JSON.stringify({ line: line.number, error: reading.fault })}\n`);
    }
  }
  return !isEmpty;
}

const TOO_LONG: QuestionFault = { field: 'line', value: null, rule: `at most ${LINE_BYTES_MAX} bytes` };

function instantOption(value: string): number {
  const instantMs = parseInstant(value);
  if (instantMs === undefined) throw new InvalidArgumentError(`It must be ${INSTANT_RULE}.`);
  return instantMs;
}

function headerOption(value: string): string {
  if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/u.test(value))
    throw new InvalidArgumentError(`It must be ${HEADER_RULE}.`);
  return value;
}

function processIo(): RetryAfterIo {
  return {
    // A terminal and /dev/null are character devices: nobody has piped anything to us.
    input: fstatSync(0).isCharacterDevice() ? null : process.stdin,
    write: writeOut,
    nowMs: Date.now,
    isColored: pc.isColorSupported,
    fail: (exitCode) => {
      process.exitCode = exitCode;
    },
  };
}

async function writeOut(text: string): Promise<void> {
  if (process.stdout.write(text)) return;
  await new Promise<void>((resolve) => {
    process.stdout.once('drain', resolve);
  });
}
