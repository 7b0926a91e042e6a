import type { SeenRequest } from './request-log.ts';

/** Counters of one host since the start or the last reset. Rates are per second, shares of 1. */
export interface HostStats {
  readonly host: string;
  readonly url: string;
  readonly requests: number;
  /** Answers with a 2xx status. */
  readonly served: number;
  /** Refused by the limiter, whatever the status. */
  readonly refused: number;
  readonly throttled429: number;
  readonly statuses: Readonly<Record<string, number>>;
  readonly answers: Readonly<Record<string, number>>;
  readonly inCooldown: {
    /** Received while a published cooldown was in force, also those that were on their way already. */
    readonly received: number;
    /** Admitted while one was in force, of those whose admission is known. */
    readonly admitted: number;
    /** Sent in spite of it: admitted (received, where the admission is not known) later than `noticeMs` after the publication. */
    readonly afterNotice: number;
  };
  readonly admissionsKnown: number;
  readonly inFlight: number;
  readonly inFlightMax: number;
  readonly connections: number;
  /** Exchanges that the client or a fault cut short. */
  readonly aborted: number;
  /** Receipt of the first and the last request, ms since the epoch. */
  readonly firstAtMs: number | null;
  readonly lastAtMs: number | null;
  /** Served requests per second between the first and the last receipt; null: fewer than two requests. */
  readonly goodputPerSecond: number | null;
  /** What the limiter would give for ever, averaged over the same time; null: no rate limits it. */
  readonly limitPerSecond: number | null;
  readonly goodputShare: number | null;
}

export class HostCounters {
  readonly #noticeMs: number;
  readonly #statuses = new Map<number, number>();
  readonly #answers = new Map<string, number>();
  #requests = 0;
  #refused = 0;
  #received = 0;
  #admitted = 0;
  #afterNotice = 0;
  #admissionsKnown = 0;
  #inFlightMax = 0;
  #aborted = 0;
  #firstAtMs: number | null = null;
  #lastAtMs: number | null = null;

  constructor(noticeMs: number) {
    this.#noticeMs = noticeMs;
  }

  receive(entry: SeenRequest): void {
    this.#requests += 1;
    this.#firstAtMs ??= entry.receivedAtMs;
    this.#lastAtMs = entry.receivedAtMs;
    this.#inFlightMax = Math.max(this.#inFlightMax, entry.inFlight);
    if (entry.receivedInCooldownMs !== null) this.#received += 1;
    if (entry.admittedInCooldownMs !== null) this.#admitted += 1;
    if (entry.admittedAtMs !== null) this.#admissionsKnown += 1;
    if (sentInSpiteOf(entry, this.#noticeMs)) this.#afterNotice += 1;
  }

  answer(kind: string): void {
    this.#answers.set(kind, (this.#answers.get(kind) ?? 0) + 1);
    if (kind === 'refused') this.#refused += 1;
  }

  status(status: number): void {
    this.#statuses.set(status, (this.#statuses.get(status) ?? 0) + 1);
  }

  abort(): void {
    this.#aborted += 1;
  }

  read(now: {
    readonly host: string;
    readonly url: string;
    readonly inFlight: number;
    readonly connections: number;
    readonly limitPerSecond: (fromMs: number, toMs: number) => number | null;
  }): HostStats {
    const first = this.#firstAtMs;
    const last = this.#lastAtMs;
    let served = 0;
    for (const [status, times] of this.#statuses) if (status >= 200 && status < 300) served += times;
    const seconds = first === null || last === null ? 0 : (last - first) / 1000;
    const goodput = seconds > 0 ? served / seconds : null;
    const limit = first === null || last === null ? null : now.limitPerSecond(first, last);
    return {
      host: now.host,
      url: now.url,
      requests: this.#requests,
      served,
      refused: this.#refused,
      throttled429: this.#statuses.get(429) ?? 0,
      statuses: Object.fromEntries([...this.#statuses].toSorted(([a], [b]) => a - b)),
      answers: Object.fromEntries(this.#answers),
      inCooldown: { received: this.#received, admitted: this.#admitted, afterNotice: this.#afterNotice },
      admissionsKnown: this.#admissionsKnown,
      inFlight: now.inFlight,
      inFlightMax: this.#inFlightMax,
      connections: now.connections,
      aborted: this.#aborted,
      firstAtMs: first,
      lastAtMs: last,
      goodputPerSecond: goodput,
      limitPerSecond: limit,
      goodputShare: goodput === null || limit === null ? null : goodput / limit,
    };
  }
}

/** The judge's rule: the client can know of a cooldown once its answer has travelled and been written down. */
function sentInSpiteOf(entry: SeenRequest, noticeMs: number): boolean {
  const age = entry.admittedAtMs === null ? entry.receivedInCooldownMs : entry.admittedInCooldownMs;
  return age !== null && age > noticeMs;
}
