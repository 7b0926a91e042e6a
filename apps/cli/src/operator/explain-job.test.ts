import {
  type BatchSnapshot,
  createMemoryGate,
  type HostSnapshot,
  type JobSnapshot,
  proxyScope,
  type StopReason,
  WAIT_CAUSES,
} from '@holdoff/throttle-core';
import { GateFixture, ManualClock, OPEN_BATCH } from '@holdoff/throttle-core/testing';
import { expect, test } from 'vitest';
import { waitOf } from '../run/watch-batch.ts';
import { explainJob } from './explain-job.ts';

interface Sample {
  readonly job: JobSnapshot;
  readonly host: HostSnapshot;
  readonly batch: BatchSnapshot;
}

/** A job of a fleet whose gate is in memory, as the gate itself describes it. */
async function sample(): Promise<Sample> {
  const clock = new ManualClock();
  const gate = createMemoryGate({ now: clock.now });
  const fixture = new GateFixture(gate, clock);
  const id = fixture.job(1);
  const entering = {
    job: id,
    host: fixture.host,
    rules: { concurrency: 2 },
    priority: 50,
    notBeforeMs: 0,
    deadlineMs: 0,
  };
  await gate.hold(fixture.host, 'told to', 'owner');
  await gate.enter({ batch: fixture.batch, batchDefaults: OPEN_BATCH, jobs: [entering] });
  const job = await gate.inspectJob(id);
  const host = await gate.inspectHost(fixture.host);
  const batch = await gate.inspectBatch(fixture.batch);
  if (job === undefined || host === undefined || batch === undefined) throw new Error('fixture');
  return { job, host, batch };
}

test('every cause of a wait is explained by a sentence of its own, with a decider and what comes next', async () => {
  const { job, host, batch } = await sample();
  const told = WAIT_CAUSES.map((cause) =>
    explainJob({ ...job, waiting: { cause, untilMs: host.nowMs + 1, place: 4, scope: null } }, host, batch),
  );
  expect(told.map(({ state }) => state)).toEqual(WAIT_CAUSES.map(() => 'waiting'));
  expect(new Set(told.map(({ why }) => why)).size).toBe(WAIT_CAUSES.length);
  expect(told.every(({ next }) => next !== '')).toBe(true);
  expect(told.filter(({ why }) => why.includes('5. in the line of')).length).toBe(WAIT_CAUSES.length - 1);
});

test('a wait for a proxy names the proxy, and how it failed', async () => {
  const { job, host, batch } = await sample();
  const scope = proxyScope('p1');
  const causes = ['held', 'cooldown', 'circuit_open', 'probe_in_flight'] as const;
  const told = causes.map((cause) =>
    explainJob(
      { ...job, waiting: { cause, untilMs: 1, place: 2, scope } },
      { ...host, host: scope, why: 'proxy p1: ECONNREFUSED' },
      batch,
    ),
  );
  expect(new Set(told.map(({ why }) => why)).size).toBe(causes.length);
  for (const { why, next } of told) {
    expect(why).toContain('its proxy p1');
    expect(why).toContain('3. in the line of proxy:p1');
    expect(next).not.toContain('site.example');
  }
  expect(told[2]?.why).toContain('ECONNREFUSED');
});

test('a held host says why it is held, and how it goes on', async () => {
  const { job, host, batch } = await sample();
  expect(explainJob(job, host, batch)).toMatchObject({
    state: 'waiting',
    why: 'the host is held: told to, 1. in the line of site.example',
    untilMs: null,
    decidedBy: 'owner',
    next: expect.stringContaining('holdoff host resume site.example'),
  });
});

test('a cooldown names the instant of the host, or the one that the job knows', async () => {
  const { job, host, batch } = await sample();
  const waits = { ...job, waiting: { cause: 'cooldown', untilMs: 1, place: null, scope: null } } as const;
  expect(explainJob(waits, { ...host, cooldownUntilMs: 7_000 }, batch).untilMs).toBe(7_000);
  const facts = { ...job.facts, cooldownUntilMs: 5_000 };
  expect(explainJob({ ...waits, facts }, undefined, batch).untilMs).toBe(5_000);
});

test.each<{ reason: StopReason; decidedBy: string }>([
  { reason: 'permanent', decidedBy: 'server' },
  { reason: 'robots', decidedBy: 'server' },
  { reason: 'cancelled', decidedBy: 'owner' },
  { reason: 'deadline', decidedBy: 'policy' },
  { reason: 'invalid_url', decidedBy: 'job' },
])(
  'a job that ended with $reason was ended by the $decidedBy, and can be replayed by that reason',
  async (row) => {
    const { job, host, batch } = await sample();
    const told = explainJob({ ...job, ended: { kind: 'stopped', reason: row.reason } }, host, batch);
    expect(told).toMatchObject({ state: 'stopped', decidedBy: row.decidedBy });
    expect(told.next).toContain(`--batch ${job.batch} --reason ${row.reason}`);
  },
);

test('what is done stays done, also in a batch that was cancelled later', async () => {
  const { job, host, batch } = await sample();
  const cancelled = { ...batch, cancelled: true };
  expect(explainJob({ ...job, ended: { kind: 'done' } }, host, cancelled).state).toBe('done');
  expect(explainJob(job, host, cancelled)).toMatchObject({ state: 'waiting', decidedBy: 'owner' });
  expect(explainJob({ ...job, waiting: null }, host, batch).state).toBe('working');
});

test.each<{ what: string; change: (host: HostSnapshot) => Partial<HostSnapshot>; said: string }>([
  { what: 'held', change: () => ({}), said: 'held: told to' },
  {
    what: 'open, though its cooldown is longer',
    change: (host) => ({
      hold: null,
      cooldownUntilMs: host.nowMs + 90_000,
      circuit: { ...host.circuit, state: 'open', openUntilMs: host.nowMs + 1_001 },
    }),
    said: 'circuit open for 2 s',
  },
  {
    what: 'probed',
    change: (host) => ({ hold: null, circuit: { ...host.circuit, state: 'half_open' } }),
    said: 'one probe is out',
  },
  {
    what: 'cooling down',
    change: (host) => ({ hold: null, cooldownUntilMs: host.nowMs + 30_000 }),
    said: 'the server said wait: 30 s',
  },
  { what: 'idle', change: () => ({ hold: null, waiting: 0 }), said: '' },
  {
    what: 'paced at a rate',
    change: (host) => ({ hold: null, pace: { ...host.pace, effectiveIntervalMs: 400 } }),
    said: 'pace 2.5/s',
  },
  {
    what: 'paced slowly',
    change: (host) => ({ hold: null, pace: { ...host.pace, effectiveIntervalMs: 2_500 } }),
    said: 'pace one per 2.5 s',
  },
  {
    what: 'full',
    change: (host) => ({ hold: null, pace: { ...host.pace, effectiveIntervalMs: 0 } }),
    said: 'all host slots are taken',
  },
])('a host that is $what says so in a word', async ({ change, said }) => {
  const { host } = await sample();
  expect(waitOf({ ...host, ...change(host) })).toBe(said);
});
