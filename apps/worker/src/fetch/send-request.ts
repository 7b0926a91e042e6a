import { performance } from 'node:perf_hooks';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { isIP, type Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import got, { type Request as GotRequest } from 'got';
import type { AgentPair } from '../guard/bounded-agents.ts';
import type { AttemptBudget } from './attempt-budget.ts';
import { faultFromError } from './fault-from-error.ts';
import type { FetchFault } from './fetch-fault.ts';

export interface WireRequest {
  readonly url: URL;
  readonly method: 'GET' | 'HEAD';
  readonly headers: Readonly<Record<string, string>>;
  readonly headerBytesMax: number;
}

/** The head of an answer has come; the body waits in `stream`. The receiver must end with `stream.destroy()`. */
export interface Answer {
  readonly kind: 'answer';
  readonly response: IncomingMessage;
  readonly stream: GotRequest;
  readonly receivedAtMs: number;
  /** From the start of the exchange to here, what a stale socket took included. */
  readonly latencyMs: number;
}

export interface NoAnswer {
  readonly kind: 'no_answer';
  readonly fault: FetchFault;
  /** False when it is certain that no byte of the request reached the wire. */
  readonly sent: boolean;
  /** The server closed an idle socket just as we took it: nothing was answered, and it cannot have meant us. */
  readonly staleSocket: boolean;
}

/** Interim answers (RFC 9110 §15.2) a server may send before the real one. */
export const INTERIM_MAX = 16;

/**
 * Sends one request and waits for the head of its answer. got is used as a plain single-shot transport: no retry,
 * no redirect, no decoding, no jar, no cache, no HTTP/2 (its agent would not be ours).
 */
export function sendRequest(
  request: WireRequest,
  agents: AgentPair,
  /** When the exchange began, monotonic. */
  startedAt: number,
  budget: AttemptBudget,
): Promise<Answer | NoAnswer> {
  if (budget.ended !== undefined) {
    return Promise.resolve({ kind: 'no_answer', fault: budget.ended, sent: false, staleSocket: false });
  }
  return new Promise((resolve) => {
    const wire: WireState = { ready: false, reused: false, takenAt: 0, bytesBefore: 0, socket: undefined };
    const stream = got.stream(request.url, {
      method: request.method,
      headers: { 'user-agent': undefined, ...request.headers },
      agent: { http: agents.http, https: agents.https },
      maxHeaderSize: request.headerBytesMax,
      retry: { limit: 0 },
      followRedirect: false,
      throwHttpErrors: false,
      decompress: false,
      http2: false,
      strictContentLength: true,
      https: { rejectUnauthorized: true },
    });
    let settled = false;
    const settle = (result: Answer | NoAnswer): void => {
      if (settled) return;
      settled = true;
      stopWaiting();
      if (result.kind === 'no_answer') stream.destroy();
      resolve(result);
    };
    const fail = (error: unknown): void => {
      const fault = budget.ended ?? faultFromError(error, budget.phase);
      settle({ kind: 'no_answer', fault, sent: wire.ready, staleSocket: isStale(fault, wire) });
    };
    const stopWaiting = budget.onEnd(fail);
    // Tearing down makes late errors; they say nothing new, but without a listener they would end the process.
    stream.on('error', fail);
    stream.once('request', (clientRequest: ClientRequest) => watch(clientRequest, wire, budget, fail));
    stream.once('response', (response: IncomingMessage) => {
      budget.phase = 'body';
      const latencyMs = performance.now() - startedAt;
      settle({ kind: 'answer', response, stream, receivedAtMs: Date.now(), latencyMs });
    });
  });
}

interface WireState {
  /** The socket can carry the request. Before that, no byte of it has left. */
  ready: boolean;
  /** An earlier exchange used this socket. */
  reused: boolean;
  /** When the request was given to the socket, monotonic. */
  takenAt: number;
  bytesBefore: number;
  socket: Socket | undefined;
}

function watch(
  request: ClientRequest,
  wire: WireState,
  budget: AttemptBudget,
  fail: (error: unknown) => void,
): void {
  // Node's own limit drops header lines beyond it without a word, a Retry-After among them. Bytes are the limit.
  request.maxHeadersCount = 0;
  let interim = 0;
  request.on('information', () => {
    interim += 1;
    if (interim > INTERIM_MAX) fail(protocolError('TOO_MANY_INTERIM_ANSWERS'));
  });
  request.once('upgrade', (_response, socket) => {
    socket.destroy();
    fail(protocolError('UNASKED_UPGRADE'));
  });
  request.once('socket', (socket: Socket) => {
    wire.socket = socket;
    wire.takenAt = performance.now();
    wire.bytesBefore = socket.bytesRead;
    wire.reused = ESTABLISHED.has(socket);
    const ready = (): void => {
      ESTABLISHED.add(socket);
      wire.ready = true;
      budget.phase = 'headers';
    };
    const secure = socket instanceof TLSSocket;
    if (wire.reused || (!socket.connecting && !secure)) return ready();
    if (socket.connecting) {
      // A literal address is not looked up.
      budget.phase = isIP(bareHost(request.host)) === 0 ? 'dns' : 'connect';
      socket.once('lookup', () => (budget.phase = 'connect'));
      socket.once('connect', () => (budget.phase = 'tls'));
    } else budget.phase = 'tls';
    socket.once(secure ? 'secureConnect' : 'connect', ready);
  });
}

/** Sockets that have carried a request, or could have: past their handshake. */
const ESTABLISHED = new WeakSet<Socket>();

function bareHost(host: string): string {
  return host.startsWith('[') ? host.slice(1, -1) : host;
}

/** Codes with which a write to a socket that the other side has closed ends. */
const CLOSED: ReadonlySet<string> = new Set([
  'ECONNRESET',
  'EPIPE',
  'ERR_SOCKET_CLOSED',
  'ERR_STREAM_DESTROYED',
]);

/** A server that takes longer to close may have begun to work on the request: that is an answer, and not sent again. */
const STALE_WITHIN_MS = 1_000;

function isStale(fault: FetchFault, wire: WireState): boolean {
  return (
    fault.kind === 'transport' &&
    performance.now() - wire.takenAt <= STALE_WITHIN_MS &&
    CLOSED.has(fault.code) &&
    wire.reused &&
    wire.socket?.bytesRead === wire.bytesBefore
  );
}

function protocolError(code: string): Error {
  return Object.assign(new Error(code), { code });
}
