import { readFile, stat } from 'node:fs/promises';
import { Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';

/** All addresses of a name, IPv4 and IPv6. Rejects with a `ResolveError`. */
export type Resolve = (name: string) => Promise<readonly string[]>;

/** not_found: the name does not exist or has no address. unavailable: the question could not be answered now. */
export class ResolveError extends Error {
  override readonly name = 'ResolveError';
  readonly kind: 'not_found' | 'unavailable';
  readonly code: string;

  constructor(kind: 'not_found' | 'unavailable', code: string) {
    super(`name resolution: ${kind === 'not_found' ? 'no such name' : 'no answer'} (${code})`);
    this.kind = kind;
    this.code = code;
  }
}

export interface ResolverSettings {
  /** Addresses of DNS servers; empty: the machine's. */
  readonly servers: readonly string[];
  /** One question, one try, ms. */
  readonly tryMs: number;
  readonly tries: number;
  /** Path of a hosts file; null: none. Names in it are not asked over the network. */
  readonly hostsFile: string | null;
}

export const DEFAULT_RESOLVER: ResolverSettings = {
  servers: [],
  tryMs: 2_500,
  tries: 2,
  hostsFile: '/etc/hosts',
};

/**
 * Asks DNS directly. The C library's resolver would do its waiting on the four threads that decoding and files
 * also need, so a handful of hosts with slow name servers would stop every healthy host.
 */
export function createResolver(settings: ResolverSettings): Resolve {
  const resolver = new Resolver({ timeout: settings.tryMs, tries: settings.tries });
  if (settings.servers.length > 0) resolver.setServers(settings.servers);
  const hosts = settings.hostsFile === null ? undefined : new HostsFile(settings.hostsFile);

  return async (name) => {
    const bare = name.endsWith('.') ? name.slice(0, -1) : name;
    // RFC 6761: these names never leave the machine.
    if (bare === 'localhost' || bare.endsWith('.localhost')) return ['127.0.0.1', '::1'];
    const listed = await hosts?.lookup(bare);
    if (listed !== undefined) return listed;
    const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
    const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    if (addresses.length > 0) return addresses;
    const codes = answers.map((answer) => (answer.status === 'rejected' ? codeOf(answer.reason) : 'ENODATA'));
    const unanswered = codes.find((code) => !NOT_FOUND.has(code));
    throw new ResolveError(
      unanswered === undefined ? 'not_found' : 'unavailable',
      unanswered ?? codes[0] ?? 'ENODATA',
    );
  };
}

const NOT_FOUND: ReadonlySet<string> = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME']);

function codeOf(reason: unknown): string {
  const code = reason instanceof Error && 'code' in reason ? reason.code : undefined;
  return typeof code === 'string' ? code : 'EUNKNOWN';
}

/** The machine's own list of names, read again when the file changes. */
class HostsFile {
  readonly #path: string;
  #names: ReadonlyMap<string, readonly string[]> = new Map();
  #changedAtMs = -1;
  #lookedAtMs = Number.NEGATIVE_INFINITY;
  /** Those who come while the file is read wait for it: an empty list would send their names to DNS. */
  #reading: Promise<void> = Promise.resolve();

  constructor(path: string) {
    this.#path = path;
  }

  async lookup(name: string): Promise<readonly string[] | undefined> {
    if (performance.now() - this.#lookedAtMs > LOOK_AGAIN_MS) {
      this.#lookedAtMs = performance.now();
      this.#reading = this.#reload();
    }
    await this.#reading;
    return this.#names.get(name);
  }

  async #reload(): Promise<void> {
    const state = await stat(this.#path).catch(() => undefined);
    if (state === undefined || state.mtimeMs === this.#changedAtMs || state.size > FILE_BYTES_MAX) return;
    this.#changedAtMs = state.mtimeMs;
    this.#names = parseHosts(await readFile(this.#path, 'utf8').catch(() => ''));
  }
}

const LOOK_AGAIN_MS = 5_000;
const FILE_BYTES_MAX = 1_048_576;

function parseHosts(text: string): ReadonlyMap<string, readonly string[]> {
  const names = new Map<string, string[]>();
  for (const line of text.split('\n')) {
    const [address, ...listed] = (line.split('#', 1)[0] ?? '').trim().split(/\s+/u);
    if (address === undefined || isIP(address) === 0) continue;
    for (const name of listed) {
      const known = names.get(name.toLowerCase());
      if (known === undefined) names.set(name.toLowerCase(), [address]);
      else known.push(address);
    }
  }
  return names;
}
