import type { IncomingHttpHeaders } from 'node:http';

/** What a client of ours says about a request, for the judge of a test. Never needed, never trusted further. */
export interface ClientMarks {
  readonly job: string | null;
  readonly attempt: number | null;
  /** When the request was admitted, ms since the epoch on the admitting clock. */
  readonly admittedAtMs: number | null;
}

const NONE: ClientMarks = { job: null, attempt: null, admittedAtMs: null };
const JOB_LENGTH_MAX = 128;

/** Headers first (`x-holdoff-job`, `-attempt`, `-admitted-at`), then the query (`job`, `attempt`, `admittedAt`). */
export function readMarks(headers: IncomingHttpHeaders, query: string): ClientMarks {
  const job = headers['x-holdoff-job'];
  if (query === '' && job === undefined && headers['x-holdoff-admitted-at'] === undefined) return NONE;
  const parameters = new URLSearchParams(query);
  const given = (header: string, parameter: string): string | null => {
    const value = headers[header] ?? parameters.get(parameter);
    return typeof value === 'string' ? value : null;
  };
  return {
    job: given('x-holdoff-job', 'job')?.slice(0, JOB_LENGTH_MAX) ?? null,
    attempt: wholeNumber(given('x-holdoff-attempt', 'attempt')),
    admittedAtMs: wholeNumber(given('x-holdoff-admitted-at', 'admittedAt')),
  };
}

function wholeNumber(text: string | null): number | null {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null;
}
