import { parseInstant } from '@holdoff/url-job';
import { instant, OperatorFault } from './operator-command.ts';

/** @throws OperatorFault that names the flag, the value and the rule */
export function wholeNumber(name: string, text: string, least: number, most: number): number {
  const number = Number(text);
  if (/^\d+$/.test(text) && number >= least && number <= most) return number;
  throw new OperatorFault(
    `${name} must be a whole number from ${least} to ${most}, not ${JSON.stringify(text)}`,
  );
}

/** An instant that is still to come, ms since the epoch. @throws OperatorFault */
export function comingInstant(name: string, text: string, nowMs: number): number {
  const parsed = parseInstant(name, text, nowMs);
  if (parsed.kind === 'invalid')
    throw new OperatorFault(`${name} ${JSON.stringify(text)} ${parsed.fault.rule}`);
  if (parsed.value <= nowMs) throw new OperatorFault(`${name} ${instant(parsed.value)} has passed`);
  return parsed.value;
}

const UNITS: Readonly<Record<string, number>> = {
  B: 1,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
  KIB: 1024,
  MIB: 1024 ** 2,
  GIB: 1024 ** 3,
  TIB: 1024 ** 4,
};

/** Bytes from `500MB` or `2GiB`, at least one. @throws OperatorFault */
export function byteCount(name: string, text: string): number {
  const match = /^(\d{1,9}(?:\.\d{1,9})?) ?([KMGT]?I?B)$/i.exec(text);
  const bytes = Math.ceil(Number(match?.[1] ?? 0) * (UNITS[match?.[2]?.toUpperCase() ?? ''] ?? 0));
  if (bytes > 0 && Number.isSafeInteger(bytes)) return bytes;
  throw new OperatorFault(`${name} must be a size such as 500MB or 2GiB, not ${JSON.stringify(text)}`);
}

/** Who answers for something: shown to people, so it has no control characters. @throws OperatorFault */
export function personName(name: string, text: string): string {
  if (/^[\p{L}\p{N}_.@+ -]{1,64}$/u.test(text)) return text;
  throw new OperatorFault(
    `${name} must be 1 to 64 letters, digits, spaces or . _ @ + -, not ${JSON.stringify(text.slice(0, 80))}`,
  );
}
