import type { OutcomeClass } from '../core/outcome.ts';
import type { HostReport } from './result.ts';
import { EPOCH_MS, type SimulatedAnswer } from './scenario.ts';
import type { HostInPlay } from './simulated-host.ts';

/** What an origin's log would show of one host. */
export class HostTally {
  requests = 0;
  throttled = 0;
  failed = 0;
  doneCount = 0;
  inCooldown = 0;
  firstSentMs = 0;
  lastDoneMs = 0;
  /** The latest end of a wait that the host has published. */
  #publishedUntilMs = 0;

  sent(atMs: number): void {
    if (this.requests === 0) this.firstSentMs = atMs;
    this.requests += 1;
    if (atMs < this.#publishedUntilMs) this.inCooldown += 1;
  }

  heard(nowMs: number, answer: SimulatedAnswer, outcome: OutcomeClass): void {
    if (outcome === 'throttled') this.throttled += 1;
    else if (outcome !== 'served' && outcome !== 'permanent') this.failed += 1;
    const untilMs = nowMs + (answer.publishedWaitMs ?? 0);
    this.#publishedUntilMs = Math.max(this.#publishedUntilMs, untilMs);
  }

  done(nowMs: number): void {
    this.doneCount += 1;
    this.lastDoneMs = nowMs;
  }
}

export function reportHost(play: HostInPlay, tally: HostTally): HostReport {
  const { host } = play;
  const fromMs = tally.firstSentMs - EPOCH_MS;
  const toMs = tally.lastDoneMs - EPOCH_MS;
  const intervalMs = play.intervalMs(tally.lastDoneMs);
  return {
    name: host.name,
    urls: host.urls,
    done: tally.doneCount,
    requests: tally.requests,
    throttled: tally.throttled,
    events: play.events,
    lastDoneMs: tally.doneCount === 0 ? null : toMs,
    servedPerSecond: toMs > fromMs ? (tally.doneCount * 1000) / (toMs - fromMs) : 0,
    limitPerSecond: host.origin.limitPerSecond(Math.max(0, fromMs), Math.max(1, toMs)),
    pacePerSecond: intervalMs > 0 ? 1000 / intervalMs : null,
    held: play.held,
  };
}
