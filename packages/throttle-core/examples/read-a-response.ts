import { readServerWait } from '@holdoff/throttle-core';

const receivedAtMs = Date.UTC(2026, 5, 15, 12);
const policy = { parse: 'lenient', quirk: null } as const;

const headers = { ratelimit: ['"burst";r=0;t=5, "daily";r=900;t=3600'] };
const { wait, rateLimit } = readServerWait({ status: 429, headers, receivedAtMs }, policy);
console.log(wait.kind === 'delay' ? `${wait.source}: ${wait.seconds} s` : wait.kind);
// ratelimit: 5 s
console.log(rateLimit);
// { remaining: 0, windowMs: 5000, untilMs: 1781524805000 }

const page = readServerWait({ status: 200, headers: { 'retry-after': ['60'] }, receivedAtMs }, policy);
console.log(page.wait);
// { kind: 'absent' }
