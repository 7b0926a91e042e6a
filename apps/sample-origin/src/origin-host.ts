import { Cooldowns } from './cooldowns.ts';
import type { HostDescription, Rule } from './description.ts';
import { HostCounters, type HostStats } from './host-stats.ts';
import { buildLimiter, limitPerSecond } from './limiters/build-limiter.ts';
import type { Limiter } from './limiters/limiter.ts';
import { RuleUses } from './match-rule.ts';
import { type Page, buildPage } from './answers/page.ts';

/** One host of the origin: what it was told to be, and what has happened to it. */
export class OriginHost {
  readonly description: HostDescription;
  /** Where clients reach it: an IP address, or its own name when all hosts share one address. */
  readonly address: string;
  readonly url: string;
  readonly page: Page;
  readonly #noticeMs: number;
  limiter: Limiter;
  cooldowns: Cooldowns;
  counters: HostCounters;
  rules: readonly Rule[];
  ruleUses = new RuleUses();
  /** Requests that are being answered, refusals included. */
  inFlight = 0;
  /** Of those, the ones that the limiter has let in. */
  admitted = 0;
  connections = 0;
  /** Instant 0 of the limiter, its changes and the rules; ms since the epoch. */
  startedAtMs: number;

  constructor(
    description: HostDescription,
    place: {
      readonly address: string;
      readonly port: number;
      readonly noticeMs: number;
      readonly nowMs: number;
    },
  ) {
    this.description = description;
    this.address = place.address;
    this.url = `http://${place.address}:${place.port}`;
    this.page = buildPage(description.page, description.name);
    this.#noticeMs = place.noticeMs;
    this.rules = description.rules;
    this.limiter = buildLimiter(description.limiter);
    this.cooldowns = new Cooldowns();
    this.counters = new HostCounters(place.noticeMs);
    this.startedAtMs = place.nowMs;
  }

  /** As if just started; requests in flight stay what they are. */
  reset(nowMs: number): void {
    this.rules = this.description.rules;
    this.limiter = buildLimiter(this.description.limiter);
    this.cooldowns = new Cooldowns();
    this.counters = new HostCounters(this.#noticeMs);
    this.ruleUses = new RuleUses();
    this.startedAtMs = nowMs;
  }

  stats(): HostStats {
    return this.counters.read({
      host: this.description.name,
      url: this.url,
      inFlight: this.inFlight,
      connections: this.connections,
      limitPerSecond: (fromMs, toMs) =>
        limitPerSecond(this.description.limiter, fromMs - this.startedAtMs, toMs - this.startedAtMs),
    });
  }
}
