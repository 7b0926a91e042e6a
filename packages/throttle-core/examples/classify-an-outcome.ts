import { classifyAnswer, classifyFault } from '@holdoff/throttle-core';

const answer = { receivedAtMs: Date.UTC(2026, 5, 15, 12), route: 'direct', body: null } as const;

const limit = classifyAnswer({ ...answer, status: 403, headers: { 'x-ratelimit-remaining': ['0'] } });
console.log(`${limit.class}: ${limit.detail}`);
// throttled: 403 Forbidden, a rate limit by its signs

const challenge = classifyAnswer({ ...answer, status: 403, headers: { 'cf-mitigated': ['challenge'] } });
console.log(`${challenge.class}, stop ${challenge.stop}: ${challenge.detail}`);
// blocked, stop blocked: 403 Forbidden, a challenge page

const fault = classifyFault({ code: 'ECONNREFUSED', phase: 'proxy', route: 'tunnel' });
console.log(`${fault.class}, by the ${fault.source}: ${fault.detail}`);
// neutral, by the proxy: connection refused (ECONNREFUSED) while the proxy connected
