/** The fields of a queue job's hash that BullMQ parses before any code of ours sees the job. */
export interface RawJob {
  readonly data: string | null;
  readonly opts: string | null;
  readonly progress: string | null;
  readonly parent: string | null;
}

export type PoisonReason =
  | 'data_unreadable'
  | 'opts_unreadable'
  | 'progress_unreadable'
  | 'parent_unreadable'
  | 'oversized';

/** A field longer than this is not even parsed: a URL job takes 64 KiB at most. */
export const FIELD_BYTES_MAX = 1_048_576;

/**
 * Whether a worker could pick this job up at all. BullMQ parses these fields while it fetches a job; when one
 * throws, the job never reaches a processor, its lock runs out, and it comes again, for ever. null: readable;
 * what it means is the worker's to judge.
 */
export function judgeJob(raw: RawJob): PoisonReason | null {
  if (!parses(raw.data, '{}')) return 'data_unreadable';
  if (!parses(raw.opts, '{}') || isNullJson(raw.opts)) return 'opts_unreadable';
  if (!parses(raw.progress, '0')) return 'progress_unreadable';
  if (!parses(raw.parent, 'null')) return 'parent_unreadable';
  return null;
}

/** As BullMQ reads it: an absent or empty field counts as its default. */
function parses(text: string | null, fallback: string): boolean {
  try {
    JSON.parse(text === null || text === '' ? fallback : text);
    return true;
  } catch {
    return false;
  }
}

/** BullMQ lists the entries of the options, and `null` has none to list. */
function isNullJson(text: string | null): boolean {
  return text !== null && text.trim() === 'null';
}
