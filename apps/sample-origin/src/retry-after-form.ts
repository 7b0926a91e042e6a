import type { RetryAfterForm } from './description.ts';

/** Header lines of a refusal, and until when it asked the client to stay away. */
export interface PublishedWait {
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** From the sending on, ms; null: the answer named no usable wait. */
  readonly waitMs: number | null;
}

/**
 * Writes a wait in the form of the host. Whole seconds are rounded up, and an instant is moved to the next
 * whole second, so a client that obeys is never early; what is counted as published is what stands in the
 * header, not what the limiter meant. `hostNowMs` is the host's own wall clock, which may be wrong.
 */
export function publishWait(form: RetryAfterForm, limiterWaitMs: number, hostNowMs: number): PublishedWait {
  const seconds = Math.ceil(limiterWaitMs / 1000);
  const endMs = Math.ceil((hostNowMs + limiterWaitMs) / 1000) * 1000;
  switch (form.form) {
    case 'seconds':
      return { headers: [['Retry-After', String(seconds)]], waitMs: seconds * 1000 };
    case 'fixed':
      return { headers: [['Retry-After', String(form.seconds)]], waitMs: form.seconds * 1000 };
    case 'http_date':
      return { headers: [['Retry-After', new Date(endMs).toUTCString()]], waitMs: endMs - hostNowMs };
    case 'float': {
      const value = (Math.ceil(limiterWaitMs) / 1000).toFixed(3);
      return { headers: [['Retry-After', value]], waitMs: Number(value) * 1000 };
    }
    case 'milliseconds': {
      const value = Math.ceil(limiterWaitMs);
      return { headers: [['Retry-After', String(value)]], waitMs: value };
    }
    case 'epoch_seconds':
      return { headers: [['Retry-After', String(endMs / 1000)]], waitMs: endMs - hostNowMs };
    case 'duplicate':
      return {
        headers: [
          ['Retry-After', '1'],
          ['Retry-After', String(Math.max(1, seconds))],
        ],
        waitMs: Math.max(1, seconds) * 1000,
      };
    case 'garbage':
      return { headers: [['Retry-After', form.value]], waitMs: null };
    case 'absent':
      return { headers: [], waitMs: null };
    case 'ratelimit':
      return { headers: [['RateLimit', `"default";r=0;t=${seconds}`]], waitMs: seconds * 1000 };
    case 'ratelimit_reset':
      return {
        headers: [
          ['RateLimit-Remaining', '0'],
          ['RateLimit-Reset', String(seconds)],
        ],
        waitMs: seconds * 1000,
      };
    case 'x_ratelimit_reset_epoch':
      return { headers: epochHeaders(String(endMs / 1000)), waitMs: endMs - hostNowMs };
    case 'x_ratelimit_reset_epoch_ms': {
      const instantMs = Math.ceil(hostNowMs + limiterWaitMs);
      return { headers: epochHeaders(String(instantMs)), waitMs: instantMs - hostNowMs };
    }
  }
}

function epochHeaders(reset: string): PublishedWait['headers'] {
  return [
    ['X-RateLimit-Remaining', '0'],
    ['X-RateLimit-Reset', reset],
  ];
}
