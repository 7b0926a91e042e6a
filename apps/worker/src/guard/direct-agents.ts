import { Agent as HttpAgent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { isIP, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { AddressGuard } from './address-guard.ts';
import { AddressNotAllowedError, checkedLookup } from './checked-addresses.ts';
import { agentOptions, idleCount, type PoolLimits } from './pool-limits.ts';
import type { Resolve } from './resolver.ts';

/** The two agents of one route to the network, as got takes them. */
export interface AgentPair {
  readonly http: HttpAgent;
  readonly https: HttpsAgent;
  /** Ends all sockets, idle and in use. */
  destroy(): void;
}

/** Agents whose sockets go only where the guard allows, resolved by `resolve`. */
export function createDirectAgents(guard: AddressGuard, resolve: Resolve, limits: PoolLimits): AgentPair {
  const http = new CheckedHttpAgent(guard, resolve, limits);
  const https = new CheckedHttpsAgent(guard, resolve, limits);
  return {
    http,
    https,
    destroy: () => {
      http.destroy();
      https.destroy();
    },
  };
}

type ConnectOptions = Parameters<HttpAgent['createConnection']>[0];
type OnCreate = (error: Error | null, stream: Duplex) => void;

class CheckedHttpAgent extends HttpAgent {
  readonly #guard: AddressGuard;
  readonly #resolve: Resolve;
  readonly #idleMax: number;

  constructor(guard: AddressGuard, resolve: Resolve, limits: PoolLimits) {
    super(agentOptions(limits));
    this.#guard = guard;
    this.#resolve = resolve;
    this.#idleMax = limits.idleMax;
  }

  override createConnection(options: ConnectOptions, onCreate?: OnCreate): Duplex | null | undefined {
    return connectChecked(this.#guard, this.#resolve, options, onCreate, (checked) =>
      super.createConnection(checked),
    );
  }

  override keepSocketAlive(socket: Duplex): void {
    return keepWithin(this, this.#idleMax, () => super.keepSocketAlive(socket));
  }
}

class CheckedHttpsAgent extends HttpsAgent {
  readonly #guard: AddressGuard;
  readonly #resolve: Resolve;
  readonly #idleMax: number;

  constructor(guard: AddressGuard, resolve: Resolve, limits: PoolLimits) {
    super(agentOptions(limits));
    this.#guard = guard;
    this.#resolve = resolve;
    this.#idleMax = limits.idleMax;
  }

  override createConnection(options: ConnectOptions, onCreate?: OnCreate): Duplex | null | undefined {
    return connectChecked(this.#guard, this.#resolve, options, onCreate, (checked) =>
      super.createConnection(checked),
    );
  }

  override keepSocketAlive(socket: Duplex): void {
    return keepWithin(this, this.#idleMax, () => super.keepSocketAlive(socket));
  }
}

/** The time one address of several is given before the next is tried beside it. */
const NEXT_ADDRESS_AFTER_MS = 1_000;

function connectChecked(
  guard: AddressGuard,
  resolve: Resolve,
  options: ConnectOptions,
  onCreate: OnCreate | undefined,
  connect: (options: ConnectOptions) => Duplex | null | undefined,
): Duplex | null | undefined {
  const host = options.host ?? '';
  const port = Number(options.port ?? 0);
  // `net.connect` asks no lookup for a literal address, so a literal is judged here.
  const refusal = isIP(host) === 0 ? undefined : guard.refusal(host, port, host);
  if (refusal !== undefined) {
    const error = new AddressNotAllowedError(refusal.detail);
    process.nextTick(() => onCreate?.(error, undefined as never));
    return undefined;
  }
  const socket = connect({
    ...options,
    lookup: checkedLookup(port, guard, resolve),
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: NEXT_ADDRESS_AFTER_MS,
  } as ConnectOptions);
  if (socket !== null && socket !== undefined) assertPeer(socket as Socket, guard, host, port);
  return socket;
}

/** Looks once more at where the socket really went, before a byte of the request is written. */
function assertPeer(socket: Socket, guard: AddressGuard, host: string, port: number): void {
  socket.once('connect', () => {
    const peer = socket.remoteAddress;
    const refusal = peer === undefined ? undefined : guard.refusal(peer, port, host);
    if (refusal !== undefined)
      socket.destroy(new AddressNotAllowedError(`connected peer: ${refusal.detail}`));
  });
}

function keepWithin(agent: HttpAgent, idleMax: number, keep: () => void): void {
  // Node's typings say void; the agent reads a boolean.
  return (idleCount(agent) < idleMax && keep()) as unknown as void;
}
