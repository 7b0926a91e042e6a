import { createHash } from 'node:crypto';
import type { ProxyExit } from '@holdoff/url-job';
import type { AddressGuard } from '../guard/address-guard.ts';
import { closeExit, type Exit } from '../guard/exit.ts';
import { NO_POOL, type PoolLimits } from '../guard/pool-limits.ts';
import type { Resolve } from '../guard/resolver.ts';
import { createProxiedAgents } from './proxied-agents.ts';
import { type Credentials, type Proxy, SESSION_CHARACTERS } from './proxy-settings.ts';

/** Sessions come and go with jobs; the least recently used one is closed beyond this. */
const EXITS_MAX = 64;

/** The exits in use, each with sockets of its own: a socket never serves another proxy or another session. */
export class ExitPool {
  readonly #proxies: ReadonlyMap<string, Proxy>;
  readonly #guard: AddressGuard;
  readonly #resolve: Resolve;
  readonly #limits: PoolLimits;
  readonly #open = new Map<string, Exit>();

  constructor(proxies: readonly Proxy[], guard: AddressGuard, resolve: Resolve, limits: PoolLimits) {
    this.#proxies = new Map(proxies.map((proxy) => [proxy.name, proxy]));
    this.#guard = guard;
    this.#resolve = resolve;
    this.#limits = limits;
  }

  /** Throws on a proxy that was never configured: going out directly instead would show our own address. */
  exit({ proxy: name, session }: ProxyExit): Exit {
    const key = `${name} ${session ?? ''}`;
    const open = this.#open.get(key) ?? this.#create(name, session);
    this.#open.delete(key);
    this.#open.set(key, open);
    this.#closeOldest();
    return open;
  }

  close(): void {
    for (const exit of this.#open.values()) closeExit(exit);
    this.#open.clear();
  }

  #create(name: string, session: string | null): Exit {
    const proxy = this.#proxies.get(name);
    if (proxy === undefined) throw new Error(`no proxy is named ${JSON.stringify(name.slice(0, 40))}`);
    const route = {
      proxy,
      credentials: withSession(proxy.credentials, session),
      guard: this.#guard,
      resolve: this.#resolve,
    };
    return {
      pooled: createProxiedAgents(route, this.#limits),
      fresh: createProxiedAgents(route, NO_POOL),
      route: 'tunnel',
      plainRoute: proxy.plainHttp === 'forward' ? 'forward_proxy' : 'tunnel',
    };
  }

  #closeOldest(): void {
    for (const [key, exit] of this.#open) {
      if (this.#open.size <= EXITS_MAX) return;
      this.#open.delete(key);
      // Requests under way keep their sockets; these end with them, since nothing is handed out here again.
      closeIdle(exit);
    }
  }
}

function closeIdle({ pooled }: Exit): void {
  for (const agent of [pooled.http, pooled.https]) {
    for (const sockets of Object.values(agent.freeSockets))
      for (const socket of sockets ?? []) socket.destroy();
    agent.maxFreeSockets = 0;
  }
}

/** Proxy services take the session from the user name. It is a digest: no job id or batch name leaves the house. */
function withSession(credentials: Credentials | null, session: string | null): Credentials | null {
  if (credentials === null) return null;
  const digest = createHash('sha256')
    .update(session ?? '')
    .digest('hex')
    .slice(0, SESSION_CHARACTERS);
  return { ...credentials, user: credentials.user.replaceAll('{session}', digest) };
}
