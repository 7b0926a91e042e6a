import { explainReason, planRetry, PRESETS } from '@holdoff/throttle-core';

const nowMs = Date.UTC(2026, 0, 15, 12);

const plan = planRetry({
  outcome: { class: 'throttled', source: 'destination', stop: null, detail: '429 Too Many Requests' },
  wait: { kind: 'delay', seconds: 420, source: 'retry-after' },
  rateLimit: null,
  redirect: null,
  method: 'GET',
  cancelled: false,
  approved: true,
  job: {
    attempts: 2,
    run: 1,
    throttledInRun: 1,
    deferrals: 0,
    startedAtMs: nowMs - 60_000,
    deadlineMs: nowMs + 6 * 3_600_000,
    notBeforeMs: 0,
    noHintEvents: 0,
    cooldownUntilMs: 0,
    openUntilMs: 0,
    batchTokensLeft: 20,
    hostTokensLeft: null,
  },
  spend: null,
  policy: PRESETS.balanced,
  draw01: 0.5,
  nowMs,
  receivedAtMs: nowMs,
  storedNotBeforeMs: null,
});

console.log(plan.jobEffect.kind, ((plan.notBeforeMs ?? 0) - nowMs) / 1000);
// defer 525.5
console.log((plan.hostEffect.cooldownUntilMs - nowMs) / 1000);
// 525.5
console.log(explainReason(plan.reason));
// the wait is too long for this run; the server's wait is the latest of the waits
