import { isIP, type Socket } from 'node:net';
import type { AddressGuard } from './address-guard.ts';
import { type AgentPair, type ConnectOptions, createBoundedAgents } from './bounded-agents.ts';
import { AddressNotAllowedError, checkedLookup } from './checked-addresses.ts';
import type { PoolLimits } from './pool-limits.ts';
import type { Resolve } from './resolver.ts';

/** The time one address of several is given before the next is tried beside it. */
const NEXT_ADDRESS_AFTER_MS = 1_000;

/** Agents whose sockets go only where the guard allows, resolved by `resolve`. */
export function createDirectAgents(guard: AddressGuard, resolve: Resolve, limits: PoolLimits): AgentPair {
  return createBoundedAgents(limits, (options, open, onCreate) => {
    const host = options.host ?? '';
    const port = Number(options.port ?? 0);
    // `net.connect` asks no lookup for a literal address, so a literal is judged here.
    const refusal = isIP(host) === 0 ? undefined : guard.refusal(host, port, host);
    if (refusal !== undefined) {
      const error = new AddressNotAllowedError(refusal.detail);
      process.nextTick(() => onCreate?.(error, undefined as never));
      return undefined;
    }
    const socket = open({
      ...options,
      lookup: checkedLookup(port, guard, resolve),
      autoSelectFamily: true,
      autoSelectFamilyAttemptTimeout: NEXT_ADDRESS_AFTER_MS,
    } as ConnectOptions);
    if (socket !== null && socket !== undefined) assertPeer(socket as Socket, guard, host, port);
    return socket;
  });
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
