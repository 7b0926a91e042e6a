import { type DeliveredPage, type EndedUrl, NO_PAGE } from '../deliver-result.ts';

/** A result whose URL is no good file name. */
export function endedUrl(key: string, other: Partial<EndedUrl> = {}): EndedUrl {
  return {
    key,
    job: 'j_00000001',
    batch: 'b',
    url: 'https://example.test/../../etc/passwd',
    finalUrl: 'https://example.test/',
    outcome: 'done',
    useful: true,
    reason: null,
    detail: '200 OK',
    status: 200,
    attempts: 1,
    contentType: 'text/html',
    bodyBytes: 5,
    bodyState: 'complete',
    data: null,
    endedAt: '2026-01-15T12:00:00.000Z',
    ...other,
  };
}

export function page(body: Uint8Array, headers: DeliveredPage['headers'] = {}): DeliveredPage {
  return { ...NO_PAGE, headers, body };
}
