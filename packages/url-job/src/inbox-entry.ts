import type { UrlRequest } from './enter-url.ts';
import { type Parsed, invalid, ok } from './field-fault.ts';
import { parseInstant } from './instant.ts';

/** The fields of an inbox entry, as `XADD` takes them and as the README names them. */
export const INBOX_FIELDS = [
  'url',
  'batch',
  'not_before',
  'priority',
  'method',
  'headers',
  'deadline',
  'reads',
] as const;

type InboxField = (typeof INBOX_FIELDS)[number];

/** What an entry may take at most: a URL of 8 KiB and its other fields. */
export const INBOX_ENTRY_BYTES_MAX = 16_384;

/**
 * Reads the text fields of an inbox entry; the meaning of the values is checked by `enterUrl`.
 *
 * @param fields name, value, name, value … as Redis gives them
 * @param addedAtMs where durations such as `+5m` count from: the entry's own time, so that reading an entry
 *   a second time gives the same instant
 */
export function parseInboxEntry(fields: readonly string[], addedAtMs: number): Parsed<UrlRequest> {
  const given = new Map<InboxField, string>();
  for (let index = 0; index < fields.length; index += 2) {
    const name = fields[index] ?? '';
    const value = fields[index + 1] ?? '';
    if (!isInboxField(name)) return invalid(name, value, `must be one of ${INBOX_FIELDS.join(', ')}`);
    if (given.has(name)) return invalid(name, value, 'must be given once');
    given.set(name, value);
  }

  const url = given.get('url');
  if (url === undefined) return invalid('url', undefined, 'must be given');
  const notBefore = optionalInstant('not_before', given.get('not_before'), addedAtMs);
  if (notBefore.kind === 'invalid') return notBefore;
  const deadline = optionalInstant('deadline', given.get('deadline'), addedAtMs);
  if (deadline.kind === 'invalid') return deadline;
  const priority = given.get('priority');
  if (priority !== undefined && !/^\d{1,3}$/.test(priority)) {
    return invalid('priority', priority, 'must be a whole number from 0 (first) to 100 (last)');
  }
  const batch = given.get('batch');
  const method = given.get('method');
  const headersRef = given.get('headers');
  return ok({
    url,
    ...(batch === undefined ? {} : { batch }),
    ...(given.get('reads') === undefined ? {} : { reads: given.get('reads') }),
    ...(method === undefined ? {} : { method: method.toUpperCase() }),
    ...(headersRef === undefined ? {} : { headersRef }),
    ...(priority === undefined ? {} : { priority: Number(priority) }),
    ...(notBefore.value === undefined ? {} : { notBeforeMs: notBefore.value }),
    ...(deadline.value === undefined ? {} : { deadlineMs: deadline.value }),
  });
}

function optionalInstant(
  field: string,
  text: string | undefined,
  baseMs: number,
): Parsed<number | undefined> {
  return text === undefined ? ok(undefined) : parseInstant(field, text, baseMs);
}

function isInboxField(name: string): name is InboxField {
  return (INBOX_FIELDS as readonly string[]).includes(name);
}
