import type { StopReason } from '@holdoff/throttle-core';

/** Who decided that a job waits or has ended. */
export type Decider = 'server' | 'policy' | 'owner' | 'fleet' | 'job' | 'handler' | 'proxy';

/** What a stop reason means in a sentence, and who decided it; docs/stop-reasons.md says more. */
export const STOPS: Readonly<Record<StopReason, { readonly why: string; readonly decidedBy: Decider }>> = {
  permanent: { why: 'the server answered, and would answer the same again', decidedBy: 'server' },
  blocked: { why: 'the site does not want this client', decidedBy: 'server' },
  robots: { why: 'robots.txt does not allow it', decidedBy: 'server' },
  deadline: { why: 'the next attempt could not have ended before its deadline', decidedBy: 'policy' },
  attempts: { why: 'all its attempts are used', decidedBy: 'policy' },
  deferrals: { why: 'it was deferred as often as the policy allows', decidedBy: 'policy' },
  retry_budget: { why: 'no retry token was left for it', decidedBy: 'policy' },
  spend: { why: 'its batch has reached a limit of bytes, requests or cost', decidedBy: 'owner' },
  cancelled: { why: 'its batch was cancelled', decidedBy: 'owner' },
  not_approved: { why: 'its batch was not approved when its turn came', decidedBy: 'owner' },
  method: { why: 'the policy does not send requests with its method again', decidedBy: 'policy' },
  invalid_url: { why: 'its URL, or a header of its header set, cannot be sent', decidedBy: 'job' },
  address_not_allowed: {
    why: 'its address or port is not one that may be fetched from',
    decidedBy: 'policy',
  },
  dns: { why: 'the name of its host has no address', decidedBy: 'server' },
  tls: { why: 'no secure connection to its host is possible', decidedBy: 'server' },
  too_large: { why: 'the answer is larger than the policy allows', decidedBy: 'policy' },
  bad_content: { why: 'the body is not what was asked for', decidedBy: 'server' },
  redirect_loop: { why: 'its redirects do not end', decidedBy: 'server' },
  proxy: { why: 'its proxy does not carry it', decidedBy: 'proxy' },
  malformed_wait: {
    why: 'the server named no wait that can be read, and the policy stops there',
    decidedBy: 'policy',
  },
  handler_failed: { why: 'the page was served, and the handler failed on it', decidedBy: 'handler' },
  poison: { why: 'the job itself is broken', decidedBy: 'job' },
};
