import { networkInterfaces } from 'node:os';
import { canonicalAddress, checkAddress, type Network, parseNetwork } from './check-address.ts';

export interface AddressGuardSettings {
  /** Ports beside 80 and 443 that public hosts may be fetched from. */
  readonly extraPorts: readonly number[];
  /** Further ports of one host, by host name as the URL parser writes it, without brackets. */
  readonly extraPortsOf?: (hostname: string) => readonly number[];
  /** Networks in CIDR form that may be fetched from although they are not public, on any port. */
  readonly allowedNetworks: readonly string[];
  /** The machine's own addresses; absent: read from its interfaces. */
  readonly ownAddresses?: () => readonly string[];
}

export interface AddressRefusal {
  readonly rule: 'address' | 'port';
  readonly detail: string;
}

/** Decides which addresses and ports a socket may go to. Holds settings only; opens nothing. */
export class AddressGuard {
  readonly #ports: ReadonlySet<number>;
  readonly #portsOf: (hostname: string) => readonly number[];
  readonly #networks: readonly Network[];
  readonly #readOwn: () => readonly string[];
  #own: ReadonlySet<string> = new Set();
  #ownReadAtMs = Number.NEGATIVE_INFINITY;

  constructor(settings: AddressGuardSettings) {
    for (const port of settings.extraPorts) {
      if (!Number.isInteger(port) || port < 1 || port > 65_535) throw new Error(`Not a port: ${port}`);
    }
    this.#ports = new Set([80, 443, ...settings.extraPorts]);
    this.#portsOf = settings.extraPortsOf ?? (() => []);
    this.#networks = settings.allowedNetworks.map(parseNetwork);
    this.#readOwn = settings.ownAddresses ?? interfaceAddresses;
  }

  /** undefined: a socket to this address and port may be opened, on behalf of a URL with that host name. */
  refusal(address: string, port: number, hostname: string): AddressRefusal | undefined {
    const verdict = checkAddress(address, this.#networks, this.#ownAddresses());
    if (verdict.kind === 'refused') {
      return { rule: 'address', detail: `address is ${verdict.range}, not public` };
    }
    if (port < 1 || (verdict.kind === 'public' && !this.portListed(port, hostname))) {
      return { rule: 'port', detail: `port ${port} is not in the list of allowed ports` };
    }
    return undefined;
  }

  /** For a name that only a proxy resolves: it is taken to be public, so the listed ports are all there is. */
  portListed(port: number, hostname: string): boolean {
    return this.#ports.has(port) || this.#portsOf(hostname).includes(port);
  }

  /** False: whatever the name resolves to, this port is refused. */
  portPossible(port: number, hostname: string): boolean {
    return port > 0 && (this.#networks.length > 0 || this.portListed(port, hostname));
  }

  /** Addresses come and go with interfaces, so they are read again now and then. */
  #ownAddresses(): ReadonlySet<string> {
    const now = performance.now();
    if (now - this.#ownReadAtMs > OWN_ADDRESSES_KEPT_MS) {
      this.#own = new Set(
        this.#readOwn()
          .map(canonicalAddress)
          .filter((address) => address !== undefined),
      );
      this.#ownReadAtMs = now;
    }
    return this.#own;
  }
}

const OWN_ADDRESSES_KEPT_MS = 30_000;

function interfaceAddresses(): readonly string[] {
  return Object.values(networkInterfaces())
    .flatMap((list) => list ?? [])
    .map((entry) => entry.address);
}
