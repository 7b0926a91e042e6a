import type { IncomingMessage, ServerResponse } from 'node:http';
import type { OriginHost } from './origin-host.ts';
import type { SeenRequest } from './request-log.ts';

export type HeaderLines = readonly (readonly [name: string, value: string])[];

/** One request and its answer: the only way in which answers reach the wire, so that the log misses nothing. */
export class Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly host: OriginHost;
  readonly entry: SeenRequest;
  readonly pathname: string;
  /** Without the question mark. */
  readonly query: string;
  readonly #nowMs: () => number;

  constructor(parts: {
    readonly request: IncomingMessage;
    readonly response: ServerResponse;
    readonly host: OriginHost;
    readonly entry: SeenRequest;
    readonly pathname: string;
    readonly query: string;
    readonly nowMs: () => number;
  }) {
    this.request = parts.request;
    this.response = parts.response;
    this.host = parts.host;
    this.entry = parts.entry;
    this.pathname = parts.pathname;
    this.query = parts.query;
    this.#nowMs = parts.nowMs;
  }

  /** The host's own wall clock, ms since the epoch: what Date headers and HTTP-dates are made of. */
  hostNowMs(): number {
    return this.#nowMs() + this.host.description.clockOffsetMs;
  }

  /** Writes the head. `publishedWaitMs`: how long it asks the client to stay away. */
  head(status: number, headers: HeaderLines, publishedWaitMs: number | null = null): void {
    const lines: string[] = [];
    for (const [name, value] of headers) lines.push(name, value);
    const { clockOffsetMs, keepAlive } = this.host.description;
    if (clockOffsetMs !== 0) lines.push('Date', new Date(this.hostNowMs()).toUTCString());
    if (!keepAlive.announced && this.response.shouldKeepAlive) lines.push('Connection', 'keep-alive');
    this.sent(status, publishedWaitMs);
    this.response.writeHead(status, lines);
  }

  /** Notes a head that reaches the wire in another way. */
  sent(status: number, publishedWaitMs: number | null = null): void {
    const nowMs = this.#nowMs();
    this.entry.status = status;
    this.entry.answeredAtMs = nowMs;
    this.host.counters.status(status);
    if (publishedWaitMs === null) return;
    this.entry.publishedWaitMs = publishedWaitMs;
    this.host.cooldowns.publish(nowMs, nowMs + publishedWaitMs);
  }

  /** A whole answer in one go; HEAD gets the head alone. */
  whole(status: number, headers: HeaderLines, body: Buffer, publishedWaitMs: number | null = null): void {
    this.head(status, [...headers, ['Content-Length', String(body.length)]], publishedWaitMs);
    if (this.request.method === 'HEAD') this.response.end();
    else this.response.end(body);
  }

  /** Repeats until `step` returns false or the connection is gone. */
  every(everyMs: number, step: () => boolean): void {
    const timer = setInterval(() => {
      if (!step()) clearInterval(timer);
    }, everyMs);
    this.response.once('close', () => clearInterval(timer));
  }
}
