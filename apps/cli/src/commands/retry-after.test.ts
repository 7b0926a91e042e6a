import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { retryAfterCommand } from './retry-after.ts';

const NOON = Date.UTC(2026, 5, 15, 12);
const AT = ['--received-at', '2026-06-15T12:00:00Z'];

interface Run {
  readonly out: string;
  readonly error: string;
  readonly exitCode: number;
}

/** Runs the command as `main.ts` does, with everything around it given. `input` null: nothing is piped in. */
async function run(
  args: readonly string[],
  input: readonly (string | Uint8Array)[] | null = null,
): Promise<Run> {
  const out: string[] = [];
  const errors: string[] = [];
  let exitCode = 0;
  const command = retryAfterCommand({
    input: input === null ? null : chunksOf(input),
    write: (text) => {
      out.push(text);
      return Promise.resolve();
    },
    nowMs: () => NOON,
    isColored: false,
    fail: (code) => {
      exitCode = code;
    },
  });
  const program = new Command('holdoff').addCommand(command.exitOverride());
  command.configureOutput({ writeErr: (text) => errors.push(text) });
  try {
    await program.parseAsync(['retry-after', ...args], { from: 'user' });
  } catch (error) {
    exitCode = (error as { readonly exitCode: number }).exitCode;
  }
  return { out: out.join(''), error: errors.join(''), exitCode };
}

async function* chunksOf(chunks: readonly (string | Uint8Array)[]): AsyncGenerator<string | Uint8Array> {
  for (const chunk of chunks) yield await Promise.resolve(chunk);
}

async function json(args: readonly string[]): Promise<unknown> {
  const { out, exitCode } = await run(['--json', ...args]);
  expect(exitCode).toBe(0);
  expect(out.endsWith('\n')).toBe(true);
  return JSON.parse(out);
}

/** Answers what is piped in. */
async function lines(input: readonly (string | Uint8Array)[], args: readonly string[] = []): Promise<Run> {
  return run(args, input);
}

function refused(line: number): unknown {
  return { line, error: { field: 'line', value: null, rule: 'at most 1048576 bytes' } };
}

function reading(result: number | string): unknown {
  return typeof result === 'number' ? { kind: 'delay', seconds: result } : { kind: result };
}

function both(strict: number | string, lenient: number | string): unknown {
  return { strict: reading(strict), lenient: reading(lenient) };
}

describe('holdoff retry-after --json', () => {
  test.each([
    [['30'], 30, 30],
    [['0'], 0, 0],
    [['30.5'], 'malformed', 31],
    [[''], 'malformed', 'malformed'],
    [[], 'absent', 'absent'],
    [['30', '60'], 'malformed', 60],
    [['-5'], 'malformed', 'malformed'],
    [['-inf'], 'malformed', 'malformed'],
    [['--', '-1.5'], 'malformed', 'malformed'],
    [['Mon, 15 Jun 2026 12:01:00 GMT', ...AT], 60, 60],
    [['Mon, 15 Jun 2026 12:01:00 GMT'], 60, 60],
    [[...AT], 'absent', 'absent'],
    [['--header', 'retry-AFTER', '30'], 30, 30],
    [['--header', 'X-Amz-Retry-After', '5000'], 'absent', 5],
    [['--header', 'ratelimit', '"a";r=0;t=5'], 'absent', 5],
    [['--header', 'ratelimit', '"a";r=5;t=5'], 'absent', 'malformed'],
    [['--header', 'x-other', '30'], 'absent', 'absent'],
    [['--unit', 'milliseconds', '60000'], 60, 60],
    [['--unit', 'epoch_seconds', '1781524830', ...AT], 30, 30],
  ])('%j', async (args, strict, lenient) => {
    expect(await json(args)).toEqual(both(strict, lenient));
  });

  test('the Date header corrects a clock of ours that is an hour fast', async () => {
    const args = ['Mon, 15 Jun 2026 12:01:00 GMT', '--received-at', 'Mon, 15 Jun 2026 13:00:00 GMT'];
    expect(await json(args)).toEqual(both(0, 0));
    expect(await json([...args, '--date', 'Mon, 15 Jun 2026 12:00:00 GMT'])).toEqual(both(60, 60));
  });

  test('the receipt can be milliseconds since 1970', async () => {
    const args = ['Mon, 15 Jun 2026 12:01:00 GMT', '--received-at', String(NOON + 30_000)];
    expect(await json(args)).toEqual(both(30, 30));
  });

  test('the keys of the object are those and no others', async () => {
    const { out } = await run(['30.5', '--json']);
    expect(out).toBe('{"strict":{"kind":"malformed"},"lenient":{"kind":"delay","seconds":31}}\n');
  });
});

describe('for people', () => {
  test('what was asked, both readings aligned, and why', async () => {
    const { out } = await run(['30.5', ...AT]);
    expect(out).toBe(
      [
        'Retry-After: 30.5',
        '  received  2026-06-15T12:00:00.000Z',
        '',
        '  strict    malformed          neither whole seconds nor one of the three HTTP-dates (RFC 9110 section 10.2.3)',
        '  lenient   wait 31 s          a number of seconds, rounded up; until 2026-06-15T12:00:31.000Z',
        '',
      ].join('\n'),
    );
  });

  test('every line, the Date and the unit are shown', async () => {
    const { out } = await run(['1500', '2500', '--date', 'soon', '--unit', 'milliseconds', ...AT]);
    expect(out).toContain('Retry-After: 1500\nRetry-After: 2500\n');
    expect(out).toContain('  Date      soon\n  unit      a bare number counts in milliseconds\n');
    expect(out).toMatch(/strict {4}malformed {10}the header may be sent once only/u);
    expect(out).toMatch(/lenient {3}wait 3 s {11}milliseconds, rounded up.*; the longest of 2 values/u);
  });

  test('an absent header, another header, and one that says nothing of waits', async () => {
    expect((await run([])).out).toMatch(
      /^Retry-After: \(absent\)[^]*strict {4}absent {13}the header is not there/u,
    );
    expect((await run(['--header', 'ratelimit', '"a";r=0;t=5'])).out).toContain('reads Retry-After only');
    expect((await run(['--header', 'x-other', '5'])).out).toContain('this header says nothing about waiting');
  });

  test('a value cannot steer the terminal, and what is not seen is shown', async () => {
    const { out } = await run(['\u001B[31m\u00A030 ']);
    expect(out).toContain('Retry-After: \\u{1b}[31m\\u{a0}30\u2423\n');
    expect((await run([''])).out).toContain('Retry-After: (empty)\n');
  });

  test('the longest wait has an instant too', async () => {
    expect((await run(['9'.repeat(400), ...AT])).out).toMatch(
      /wait 2147483648 s {2}whole seconds; cut to 2\^31 s, the longest wait there is; until 2094-/u,
    );
  });

  test('a receipt at the end of time does not break the answer', async () => {
    const { out } = await run(['30', '--received-at', '8640000000000000']);
    expect(out).toContain('; until 8640000000030000 ms since 1970');
  });
});

describe('wrong options', () => {
  test.each([
    [['--received-at', 'soon', '30'], /option '--received-at <instant>' argument 'soon' is invalid/u],
    [['--received-at', '2026-06-15T12:00Z', '30'], /'2026-06-15T12:00Z' is invalid/u],
    [['--received-at', '2026-02-31T12:00:00Z', '30'], /is invalid/u],
    [['--header', 'a b', '30'], /It must be a header name/u],
    [['--unit', 'minutes', '30'], /Allowed choices are seconds, milliseconds, epoch_seconds/u],
    [['--recieved-at', 'x', '30'], /unknown option '--recieved-at'/u],
  ])('%j', async (args, message) => {
    const { out, error, exitCode } = await run(args);
    expect(error).toMatch(message);
    expect(out).toBe('');
    expect(exitCode).not.toBe(0);
  });
});

describe('JSON lines on standard input', () => {
  test('every line gets one answer, in order, with or without --json', async () => {
    const input = [
      '{"value":"30"}\n{"header":"Retry-After","value":null}\r\n\n',
      '{"header":"retry-after-ms","value":["1500","2500"],"receivedAt":"2026-06-15T12:00:00Z","date":null}\n',
      '{"value":"Mon, 15 Jun 2026 12:01:00 GMT","receivedAt":1781528400000,"date":"Mon, 15 Jun 2026 12:00:00 GMT"}\n',
      '{"value":"Mon, 15 Jun 2026 12:01:00 GMT","receivedAt":"Mon, 15 Jun 2026 13:00:00 GMT","date":["Mon, 15 Jun 2026 12:00:30 GMT"]}\n',
      '{"value":"60000","unit":"milliseconds"}',
    ];
    const expected = [
      both(30, 30),
      both('absent', 'absent'),
      both('absent', 3),
      both(60, 60),
      both(30, 30),
      both(60, 60),
    ];
    for (const args of [[], ['--json']]) {
      const { out, exitCode } = await lines(input, args);
      expect(
        out
          .trimEnd()
          .split('\n')
          .map((line) => JSON.parse(line) as unknown),
      ).toEqual(expected);
      expect(exitCode).toBe(0);
    }
  });

  test('a line that cannot be read is named, the others are answered, and the exit code tells', async () => {
    const { out, exitCode } = await lines([
      '{"value":5}\n{"value":"1"}\nnot json\n[1]\n{"header":"a b","value":"1"}\n{}\n{"value":["1",2]}\n',
      '{"value":"1","receivedAt":"soon"}\n{"value":"1","date":7}\n{"value":"1","unit":"minutes"}\nnull\n{"value":"1","receivedAt":0.5}\n',
    ]);
    const answers = out
      .trimEnd()
      .split('\n')
      .map(
        (line) =>
          JSON.parse(line) as { line?: number; error?: { field: string; value: unknown; rule: string } },
      );
    expect(
      answers.map((answer) =>
        answer.error === undefined
          ? 'answered'
          : `${answer.line} ${answer.error.field} ${JSON.stringify(answer.error.value)}`,
      ),
    ).toEqual([
      '1 value 5',
      'answered',
      '3 line "not json"',
      '4 line "[1]"',
      '5 header "a b"',
      '6 value null',
      '7 value ["1",2]',
      '8 receivedAt "soon"',
      '9 date 7',
      '10 unit "minutes"',
      '11 line "null"',
      '12 receivedAt 0.5',
    ]);
    expect(answers[0]?.error?.rule).toBe(
      'a string, null (the header is absent) or an array of strings (its lines)',
    );
    expect(answers[7]?.error?.rule).toMatch(/^an instant: /u);
    expect(answers[9]?.error?.rule).toBe('seconds, milliseconds or epoch_seconds');
    expect(exitCode).toBe(1);
  });

  test('a line is cut where it is too long, and the next ones are read', async () => {
    const chunk = Buffer.alloc(700_000, 0x61);
    const { out, exitCode } = await lines([chunk, chunk, '\n{"value":"1"}\n', chunk, chunk]);
    expect(
      out
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as unknown),
    ).toEqual([refused(1), both(1, 1), refused(3)]);
    expect(exitCode).toBe(1);
  });

  test('a long or deep value is not echoed whole', async () => {
    const deep = `{"value":${'['.repeat(30_000)}${']'.repeat(30_000)}}\n`;
    const long = `{"value":"1","receivedAt":"${'x'.repeat(5000)}"}\n`;
    const { out } = await lines([deep, long, `{"value":"1","receivedAt":"${'y'.repeat(500)}"}\n`]);
    const echoed = out
      .trimEnd()
      .split('\n')
      .map((line) => (JSON.parse(line) as { error: { value: string } }).error.value);
    expect(echoed.map((value) => value.length)).toEqual([121, 121, 121]);
    expect(echoed[2]).toBe(`${'y'.repeat(120)}…`);
  });

  test('characters that are split over two chunks are put together, and no UTF-8 is no reason to fail', async () => {
    const bytes = Buffer.from('{"value":"30\u20AC"}\n{"value":"30"}\n');
    const cut = bytes.indexOf(0x82);
    const { out } = await lines([
      bytes.subarray(0, cut),
      bytes.subarray(cut),
      Buffer.from([0x7b, 0xff, 0x0a]),
    ]);
    expect(
      out
        .split('\n')
        .slice(0, 2)
        .map((line) => JSON.parse(line) as unknown),
    ).toEqual([both('malformed', 'malformed'), both(30, 30)]);
    expect(out).toContain('"line":3');
  });

  test('an empty input is an absent header', async () => {
    expect(JSON.parse((await lines([], ['--json'])).out)).toEqual(both('absent', 'absent'));
  });

  test('values and options on the command line win over whatever is piped in', async () => {
    expect(JSON.parse((await lines(['{"value":"1"}\n'], ['--json', '30'])).out)).toEqual(both(30, 30));
    expect(JSON.parse((await lines(['{"value":"1"}\n'], ['--json', ...AT])).out)).toEqual(
      both('absent', 'absent'),
    );
  });

  test('a file of vectors can be piped in as it is', async () => {
    const file = new URL(
      '../../../../packages/throttle-core/src/core/retry-after.vectors.json',
      import.meta.url,
    );
    const vectors = JSON.parse(readFileSync(file, 'utf8')) as readonly {
      expectStrict: number | string;
      expectLenient: number | null;
    }[];
    const { out, exitCode } = await lines(vectors.map((vector) => `${JSON.stringify(vector)}\n`));
    const answers = out
      .trimEnd()
      .split('\n')
      .map(
        (line) =>
          JSON.parse(line) as { strict: { kind: string; seconds?: number }; lenient: { seconds?: number } },
      );
    expect(
      answers.map(({ strict, lenient }) => [strict.seconds ?? strict.kind, lenient.seconds ?? null]),
    ).toEqual(vectors.map(({ expectStrict, expectLenient }) => [expectStrict, expectLenient]));
    expect(exitCode).toBe(0);
  });
});

describe('as a process', { timeout: 60_000 }, () => {
  // The command alone: the whole program also loads the queue and the fleet, which has nothing to do with this.
  const COMMAND = new URL('retry-after.ts', import.meta.url).href;
  const SCRIPT = `import { retryAfterCommand } from '${COMMAND}'; await retryAfterCommand().parseAsync();`;
  const NODE_ARGS = ['--conditions=holdoff-source', '--input-type=module', '-e', SCRIPT, '--'];

  function holdoff(
    args: readonly string[],
    input: string,
  ): { readonly out: string; readonly status: number | null } {
    const options = { input, encoding: 'utf8', maxBuffer: 1e8 } as const;
    const { stdout, status } = spawnSync(process.execPath, [...NODE_ARGS, ...args], options);
    return { out: stdout, status };
  }

  test('reads standard input to its end and tells a bad line by its exit code', () => {
    const { out, status } = holdoff([], `${'{"value":"30"}\n'.repeat(5000)}bad\n`);
    expect(out.split('\n').length).toBe(5002);
    expect(status).toBe(1);
  });

  test('a single question ends with 0', () => {
    expect(holdoff(['--json', '-5'], '')).toEqual({
      out: '{"strict":{"kind":"malformed"},"lenient":{"kind":"malformed"}}\n',
      status: 0,
    });
  });
});

test('it is a command of holdoff', { timeout: 60_000 }, async () => {
  const { createProgram } = await import('../program.ts');
  expect(createProgram().commands.map((command) => command.name())).toContain('retry-after');
});
