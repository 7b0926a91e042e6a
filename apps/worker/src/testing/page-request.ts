import type { PageRequest } from '../fetch-page.ts';

export const TEST_BODY = {
  wireBytesMax: 1_048_576,
  decodedBytesMax: 2_097_152,
  ratioMax: 100,
  headerBytesMax: 16_384,
  contentTypes: [],
} as const;

/** A request with figures small enough for tests. */
export function pageRequest(url: string, overrides: Partial<PageRequest> = {}): PageRequest {
  return {
    url,
    method: 'GET',
    headers: {},
    body: TEST_BODY,
    budgetMs: 3_000,
    signal: new AbortController().signal,
    ...overrides,
  };
}

export const LOOPBACK_OPEN = { extraPorts: [], allowedNetworks: ['127.0.0.0/8'] } as const;
