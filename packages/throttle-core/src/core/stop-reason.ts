/**
 * Why a job ended without a useful result. The list is closed: docs, metrics and code are compared by a test.
 */
export const STOP_REASONS = [
  'permanent',
  'blocked',
  'robots',
  'deadline',
  'attempts',
  'deferrals',
  'retry_budget',
  'spend',
  'cancelled',
  'not_approved',
  'method',
  'invalid_url',
  'address_not_allowed',
  'dns',
  'tls',
  'too_large',
  'bad_content',
  'redirect_loop',
  'proxy',
  'malformed_wait',
  'handler_failed',
  'poison',
] as const;

export type StopReason = (typeof STOP_REASONS)[number];
