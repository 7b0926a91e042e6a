import TinyQueue from 'tinyqueue';
import { planRetry } from '../core/plan-retry.ts';
import { batchTokenTotal } from '../core/retry-budget.ts';
import type { StopReason } from '../core/stop-reason.ts';
import { HostTally, reportHost } from './host-tally.ts';
import { AnswerReader } from './read-answer.ts';
import type { SimulationResult } from './result.ts';
import { type Delay, EPOCH_MS, type Scenario, type SimulatedAnswer, type SimulatedHost } from './scenario.ts';
import { HostInPlay, type JobInPlay, type Lease } from './simulated-host.ts';
import { TimelineRecorder } from './timeline.ts';

/** Called for each request at its admission; instants are ms since the start of the run. */
export type SendObserver = (send: {
  readonly host: string;
  readonly atMs: number;
  readonly intervalMs: number;
}) => void;

/** Plays a scenario to its end in virtual time. Same scenario and same random numbers, same result. */
export function simulate(scenario: Scenario, onSend: SendObserver = () => {}): SimulationResult {
  return new Simulation(scenario, onSend).run();
}

type Event = { readonly atMs: number; readonly order: number; readonly seat: Seat } & (
  | { readonly kind: 'look' }
  | { readonly kind: 'arrive'; readonly lease: Lease }
  | {
      readonly kind: 'answer';
      readonly lease: Lease;
      readonly answer: SimulatedAnswer;
      readonly sentAtMs: number;
    }
  | { readonly kind: 'free' }
);

/** A host with what the run keeps beside the gate's state. */
interface Seat {
  readonly host: HostInPlay;
  readonly tally: HostTally;
  /** The earliest look that is planned. */
  lookAtMs: number;
  /** In the line for a free worker. */
  queued: boolean;
}

class Simulation {
  readonly #scenario: Scenario;
  readonly #onSend: SendObserver;
  readonly #events = new TinyQueue<Event>([], (a, b) => a.atMs - b.atMs || a.order - b.order);
  readonly #seats: readonly Seat[];
  readonly #line: Seat[] = [];
  readonly #reader = new AnswerReader();
  readonly #timeline = new TimelineRecorder();
  readonly #stopped: Partial<Record<StopReason, number>> = {};
  readonly #tokensTotal: number | null;
  #tokensSpent = 0;
  #freeHands: number;
  #order = 0;
  #left = 0;
  #finishedMs = 0;
  #nowMs = EPOCH_MS;

  constructor(scenario: Scenario, onSend: SendObserver) {
    this.#scenario = scenario;
    this.#onSend = onSend;
    this.#freeHands = scenario.fleet.workers * scenario.fleet.concurrency;
    this.#seats = scenario.hosts.map((host) => ({
      host: new HostInPlay(host),
      tally: new HostTally(),
      lookAtMs: Infinity,
      queued: false,
    }));
    this.#left = scenario.hosts.reduce((sum, host) => sum + host.urls, 0);
    this.#tokensTotal = tokensOf(scenario);
  }

  run(): SimulationResult {
    const untilMs = EPOCH_MS + this.#scenario.untilMs;
    for (const seat of this.#seats) this.#visit(seat);
    while (this.#left > 0) {
      const event = this.#events.pop();
      if (event === undefined || event.atMs > untilMs) break;
      this.#nowMs = event.atMs;
      this.#handle(event);
    }
    return this.#result();
  }

  #handle(event: Event): void {
    const { seat } = event;
    switch (event.kind) {
      case 'look':
        if (event.atMs < seat.lookAtMs) return;
        seat.lookAtMs = Infinity;
        return this.#visit(seat);
      case 'arrive':
        return this.#arrive(seat, event.lease);
      case 'answer':
        return this.#answered(seat, event.lease, event.answer, event.sentAtMs);
      case 'free':
        this.#freeHands += 1;
        return this.#serveLine();
    }
  }

  /** Admits what the host and the fleet allow just now, and plans the next look. */
  #visit(seat: Seat): void {
    const { host } = seat;
    for (;;) {
      const opensAtMs = host.opensAt(this.#nowMs);
      if (opensAtMs === Infinity) return;
      if (opensAtMs > this.#nowMs) return this.#lookAt(seat, opensAtMs);
      if (this.#freeHands === 0) {
        if (!seat.queued) this.#line.push(seat);
        seat.queued = true;
        return;
      }
      if (!this.#admitNext(seat)) return;
    }
  }

  /** Each host in the line gets one hand, then goes to its end: a large host does not hold up the others. */
  #serveLine(): void {
    while (this.#freeHands > 0) {
      const seat = this.#line.shift();
      if (seat === undefined) return;
      seat.queued = false;
      if (seat.host.opensAt(this.#nowMs) <= this.#nowMs) this.#admitNext(seat);
      this.#visit(seat);
    }
  }

  #lookAt(seat: Seat, atMs: number): void {
    if (atMs >= seat.lookAtMs) return;
    seat.lookAtMs = atMs;
    const lateMs = this.#draw(this.#scenario.fleet.lateMs);
    this.#push({ kind: 'look', seat, atMs: atMs + lateMs });
  }

  #draw(delay: Delay): number {
    const draw01 = this.#scenario.random01();
    return typeof delay === 'number' ? draw01 * delay : (delay[Math.floor(draw01 * delay.length)] ?? 0);
  }

  /** False: the host has no job that may go now. */
  #admitNext(seat: Seat): boolean {
    const { host } = seat;
    for (;;) {
      const job = host.next(this.#nowMs, EPOCH_MS);
      if (job === null) return false;
      const refused = this.#refusal(host, job);
      if (refused !== null) {
        this.#stop(refused);
      } else {
        this.#send(seat, job);
        return true;
      }
    }
  }

  #refusal(host: HostInPlay, job: JobInPlay): StopReason | null {
    const { policy } = host.host;
    const { attemptMs, headroomMs } = policy.deadline;
    const deadlineMs = deadlineOf(host.host, job);
    if (deadlineMs > 0 && this.#nowMs + attemptMs + headroomMs >= deadlineMs) return 'deadline';
    if (policy.attempts.totalMax !== null && job.attempts >= policy.attempts.totalMax) return 'attempts';
    if (job.attempts === 0) return null;
    if (this.#tokensTotal !== null && this.#tokensSpent >= this.#tokensTotal) return 'retry_budget';
    return !job.wasThrottled && host.tokens !== null && host.tokens < 1 ? 'retry_budget' : null;
  }

  #send(seat: Seat, job: JobInPlay): void {
    const { fleet } = this.#scenario;
    if (job.attempts > 0) this.#tokensSpent += 1;
    this.#onSend({
      host: seat.host.host.name,
      atMs: this.#nowMs - EPOCH_MS,
      intervalMs: seat.host.intervalMs(this.#nowMs),
    });
    const lease = seat.host.admit(job, this.#nowMs);
    this.#freeHands -= 1;
    seat.tally.sent(this.#nowMs);
    this.#push({ kind: 'arrive', seat, lease, atMs: this.#nowMs + this.#draw(fleet.sendMs) });
  }

  #arrive(seat: Seat, lease: Lease): void {
    const answer = seat.host.host.origin.answer(this.#nowMs - EPOCH_MS);
    const { attemptMs } = seat.host.rules;
    const inTime = lease.admittedAtMs + attemptMs - this.#nowMs > answer.latencyMs;
    const heard = inTime ? answer : { ...answer, status: 0, fault: 'ETIMEDOUT', latencyMs: attemptMs };
    const atMs = this.#nowMs + heard.latencyMs;
    this.#push({ kind: 'answer', seat, lease, answer: heard, sentAtMs: this.#nowMs, atMs });
  }

  #answered(seat: Seat, lease: Lease, answer: SimulatedAnswer, sentAtMs: number): void {
    const { host, tally } = seat;
    const { policy, origin } = host.host;
    const nowMs = this.#nowMs;
    origin.ended(answer);
    const { outcome, hints } = this.#reader.read(answer, policy.retryAfter, nowMs);
    tally.heard(nowMs, answer, outcome.class);
    const plan = planRetry({
      outcome,
      wait: hints.wait,
      rateLimit: hints.rateLimit,
      redirect: null,
      method: 'GET',
      cancelled: false,
      approved: true,
      spend: null,
      job: this.#facts(host, lease.job),
      policy,
      draw01: this.#scenario.random01(),
      nowMs,
      receivedAtMs: nowMs,
      storedNotBeforeMs: null,
    });
    const latencyMs = nowMs - sentAtMs;
    host.settle(lease, { outcome: outcome.class, effect: plan.hostEffect, latencyMs }, nowMs);
    this.#timeline.record(happening(outcome.class), nowMs - EPOCH_MS);
    this.#conclude(seat, lease.job, plan.jobEffect, outcome.class === 'throttled');
    this.#push({ kind: 'free', seat, atMs: nowMs + this.#scenario.fleet.overheadMs });
    this.#visit(seat);
  }

  #conclude(
    seat: Seat,
    job: JobInPlay,
    effect: ReturnType<typeof planRetry>['jobEffect'],
    throttled: boolean,
  ): void {
    const { host } = seat;
    if (throttled) job.throttledInRun += 1;
    job.wasThrottled = throttled;
    switch (effect.kind) {
      case 'done':
        seat.tally.done(this.#nowMs);
        return this.#ended();
      case 'stop':
        return this.#stop(effect.reason);
      case 'retry_at':
        job.notBeforeMs = effect.notBeforeMs;
        break;
      case 'defer':
        job.notBeforeMs = effect.notBeforeMs;
        job.deferrals += 1;
        job.run += 1;
        job.throttledInRun = 0;
        break;
      case 'hold':
        job.notBeforeMs = Infinity;
        break;
      case 'continue':
      case 'release':
        job.notBeforeMs = this.#nowMs;
        break;
    }
    host.waiting.push(job);
  }

  #facts(host: HostInPlay, job: JobInPlay): Parameters<typeof planRetry>[0]['job'] {
    return {
      ...job,
      startedAtMs: job.enteredAtMs,
      deadlineMs: deadlineOf(host.host, job),
      noHintEvents: host.noHintEvents,
      cooldownUntilMs: host.cooldownUntilMs,
      openUntilMs: host.circuit.openUntilMs,
      batchTokensLeft: this.#tokensTotal === null ? null : this.#tokensTotal - this.#tokensSpent,
      hostTokensLeft: host.tokens,
    };
  }

  #stop(reason: StopReason): void {
    this.#stopped[reason] = (this.#stopped[reason] ?? 0) + 1;
    this.#ended();
  }

  #ended(): void {
    this.#left -= 1;
    this.#finishedMs = this.#nowMs - EPOCH_MS;
  }

  #push(event: DistributiveOmit<Event, 'order'>): void {
    this.#order += 1;
    this.#events.push({ ...event, order: this.#order });
  }

  #result(): SimulationResult {
    const hosts = this.#seats.map(({ host, tally }) => reportHost(host, tally));
    const sum = (of: (tally: HostTally) => number): number =>
      this.#seats.reduce((total, { tally }) => total + of(tally), 0);
    return {
      finishedMs: this.#left === 0 ? this.#finishedMs : null,
      reachedMs: this.#nowMs - EPOCH_MS,
      urls: hosts.reduce((total, { urls }) => total + urls, 0),
      done: sum((tally) => tally.doneCount),
      stopped: this.#stopped,
      waiting: this.#left,
      requests: sum((tally) => tally.requests),
      throttled: sum((tally) => tally.throttled),
      failed: sum((tally) => tally.failed),
      inCooldown: sum((tally) => tally.inCooldown),
      tokens: this.#tokensTotal === null ? null : { total: this.#tokensTotal, spent: this.#tokensSpent },
      hosts,
      timeline: this.#timeline.read(),
    };
  }
}

type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;

function tokensOf({ hosts, tokens }: Scenario): number | null {
  const first = hosts[0];
  if (first === undefined) return null;
  const urls = hosts.reduce((sum, host) => sum + host.urls, 0);
  return batchTokenTotal(first.policy.batchTokens, urls, tokens);
}

function deadlineOf(host: SimulatedHost, job: JobInPlay): number {
  const { jobMs } = host.policy.deadline;
  return jobMs === null ? 0 : job.enteredAtMs + jobMs;
}

function happening(outcome: string): 'served' | 'throttled' | 'failed' {
  if (outcome === 'throttled') return 'throttled';
  return outcome === 'served' || outcome === 'permanent' ? 'served' : 'failed';
}
