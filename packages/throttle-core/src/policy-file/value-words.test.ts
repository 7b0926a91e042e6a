import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  printDuration,
  printRate,
  printSize,
  readDurationMs,
  readRatePerSecond,
  readSizeBytes,
} from './value-words.ts';

describe('durations', () => {
  test.for([
    ['250ms', 250],
    ['30s', 30_000],
    ['1.5m', 90_000],
    ['6h', 21_600_000],
    ['7d', 604_800_000],
    ['0s', 0],
    ['1.1s', 1100],
    ['007s', 7000],
  ] as const)('%s is %d ms', ([text, durationMs]) => {
    expect(readDurationMs(text)).toBe(durationMs);
  });

  test.for([
    '',
    '5',
    '5 s',
    '-5s',
    '+5s',
    '5S',
    '5sec',
    's',
    '.5s',
    '5.s',
    '1h30m',
    '1e3s',
    '0.5ms',
    '٣s',
    '5s\n',
  ])('%j is refused', (text) => {
    expect(readDurationMs(text)).toBeUndefined();
  });

  test.for([
    [0, '0s'],
    [1, '1ms'],
    [2500, '2500ms'],
    [90_000, '90s'],
    [300_000, '5m'],
    [86_400_000, '24h'],
    [172_800_000, '2d'],
  ] as const)('%d ms is printed as %s', ([durationMs, text]) => {
    expect(printDuration(durationMs)).toBe(text);
  });

  test('any whole millisecond is read back as it was printed', () => {
    fc.assert(
      fc.property(fc.nat({ max: 10 ** 12 }), (durationMs) => {
        expect(readDurationMs(printDuration(durationMs))).toBe(durationMs);
      }),
    );
  });
});

describe('sizes', () => {
  test.for([
    ['512B', 512],
    ['64KiB', 65_536],
    ['10MiB', 10_485_760],
    ['1.5GiB', 1_610_612_736],
    ['1TiB', 1_099_511_627_776],
  ] as const)('%s is %d bytes', ([text, bytes]) => {
    expect(readSizeBytes(text)).toBe(bytes);
  });

  test.for(['10', '10MB', '10mib', '10 MiB', '0.5B', '1000000000TiB', 'MiB'])('%j is refused', (text) => {
    expect(readSizeBytes(text)).toBeUndefined();
  });

  test('any size is read back as it was printed', () => {
    fc.assert(
      fc.property(fc.nat({ max: 10 ** 11 }), (bytes) => {
        expect(readSizeBytes(printSize(bytes))).toBe(bytes);
      }),
    );
  });
});

describe('rates', () => {
  test.for([
    ['2/s', 2],
    ['30/m', 0.5],
    ['100/h', 100 / 3600],
    ['0.1/s', 0.1],
    ['86400/d', 1],
  ] as const)('%s is %d a second', ([text, perSecond]) => {
    expect(readRatePerSecond(text)).toBeCloseTo(perSecond, 12);
  });

  test.for(['2', '2/', '/s', '2/ms', '-1/s', '2 / s', '2/s/s'])('%j is refused', (text) => {
    expect(readRatePerSecond(text)).toBeUndefined();
  });

  test.for([
    [2, '2/s'],
    [0.1, '6/m'],
    [0.5, '30/m'],
    [1 / 3600, '1/h'],
    [0.1234, '0.1234/s'],
    [0, '0/s'],
  ] as const)('%d a second is printed as %s', ([perSecond, text]) => {
    expect(printRate(perSecond)).toBe(text);
  });
});
