import { expect, test } from 'vitest';
import { type HostDescriptionInput, parseDescription } from './description.ts';
import { createVirtualHost } from './virtual-host.ts';

function virtual(input: Omit<HostDescriptionInput, 'name'>, draws: readonly number[] = [0.5]) {
  const [description] = parseDescription({ hosts: [{ name: 'h', ...input }] }).hosts;
  if (description === undefined) throw new Error('no host');
  let at = -1;
  const draw = (): number => draws[(at += 1) % draws.length] ?? 0;
  return createVirtualHost(description, { draw, epochMs: Date.UTC(2030, 0, 1) });
}

test('the limiter lets in and refuses, and the refusal names its wait in the form of the host', () => {
  const host = virtual({ limiter: { kind: 'token_bucket', perSecond: 0.1, burst: 1 } });
  expect(host.answer(0)).toMatchObject({ status: 200, letIn: true, publishedWaitMs: null, headers: {} });
  expect(host.answer(1_000)).toMatchObject({
    status: 429,
    letIn: false,
    publishedWaitMs: 9_000,
    headers: { 'retry-after': ['9'] },
  });
  expect(host.limitPerSecond(0, 1_000)).toBeCloseTo(0.1, 9);
});

test('dates in headers are on the clock of the host', () => {
  const host = virtual({
    limiter: { kind: 'token_bucket', perSecond: 0.1, burst: 1 },
    refusal: { retryAfter: 'http_date' },
    clockOffsetMs: 3_600_000,
  });
  host.answer(0);
  expect(host.answer(0).headers).toEqual({ 'retry-after': ['Tue, 01 Jan 2030 01:00:10 GMT'] });
});

test('a concurrency limit counts the exchanges that were let in and have not ended', () => {
  const host = virtual({ limiter: { kind: 'concurrency', limit: 1 } });
  const first = host.answer(0);
  const second = host.answer(1);
  expect([first.letIn, second.letIn]).toEqual([true, false]);
  host.ended(second);
  expect(host.answer(2).letIn).toBe(false);
  host.ended(first);
  expect(host.answer(3).letIn).toBe(true);
});

test('latency grows with the requests in flight where the host says so', () => {
  const host = virtual({ latency: { kind: 'load', baseMs: 10, perInFlightMs: 5 } });
  expect([host.answer(0), host.answer(0), host.answer(0)].map(({ latencyMs }) => latencyMs)).toEqual([
    10, 15, 20,
  ]);
});

test('rules answer by time and share, before or after the limiter', () => {
  const host = virtual(
    {
      limiter: { kind: 'token_bucket', perSecond: 1, burst: 1 },
      rules: [
        {
          fromMs: 10_000,
          beforeLimiter: true,
          answer: { kind: 'status', status: 503, retryAfterSeconds: 2 },
        },
        { share: 0.3, answer: { kind: 'reset' } },
        { share: 0.3, answer: { kind: 'never' } },
      ],
    },
    [0.2, 0.5, 0.9, 0.1, 0.5, 0.9, 0.9, 0.5],
  );
  expect(host.answer(0)).toMatchObject({ status: 0, fault: 'ECONNRESET' });
  expect(host.answer(1_000)).toMatchObject({ status: 0, fault: 'ETIMEDOUT' });
  expect(host.answer(2_000)).toMatchObject({ status: 200, fault: null });
  expect(host.answer(10_000)).toMatchObject({
    status: 503,
    headers: { 'retry-after': ['2'] },
    publishedWaitMs: 2_000,
  });
});

test('a host that tells what is left says so on its pages', () => {
  const host = virtual({
    limiter: { kind: 'fixed_window', limit: 5, windowMs: 10_000 },
    advertise: 'ratelimit',
  });
  expect(host.answer(0).headers).toEqual({ ratelimit: ['"default";r=4;t=10'] });
});

test('what needs sockets or single URLs is refused at the start, by name', () => {
  expect(() => virtual({ rules: [{ path: '/a', answer: { kind: 'reset' } }] })).toThrow(/host h: .*path/);
  expect(() => virtual({ rules: [{ answer: { kind: 'endless_body' } }] })).toThrow(/host h: .*endless_body/);
});
