import ipaddr from 'ipaddr.js';

/** A network range, `10.0.0.0/8` or `fd00::/8`. */
export type Network = readonly [ipaddr.IPv4 | ipaddr.IPv6, number];

export type AddressVerdict =
  | { readonly kind: 'public' }
  /** Inside a network the operator has opened: any port may be used. */
  | { readonly kind: 'allowed_network' }
  /** `range`: the kind of range that rules it out, e.g. `loopback`, `private`, `teredo`. */
  | { readonly kind: 'refused'; readonly range: string };

/** Throws on anything but an address and a prefix length, with the text in the message. */
export function parseNetwork(text: string): Network {
  try {
    return ipaddr.parseCIDR(text);
  } catch {
    throw new Error(`Not a network in CIDR form (such as 10.0.0.0/8): ${JSON.stringify(text.slice(0, 100))}`);
  }
}

/**
 * Judges one resolved address. Only globally routed unicast passes; what the operator opened passes before that.
 * An IPv4 address carried inside an IPv6 one is judged as what it would reach: mapped (RFC 4291) and NAT64
 * (RFC 6052, the well-known prefix) by the address inside; 6to4, Teredo, compatible and local NAT64 forms never,
 * because no public site is published under them and each can reach an inner host behind a relay.
 *
 * `text` must be an IP address as a resolver or the URL parser writes it; anything else is refused.
 */
export function checkAddress(
  text: string,
  allowed: readonly Network[],
  own: ReadonlySet<string>,
): AddressVerdict {
  const zone = text.indexOf('%');
  const bare = zone === -1 ? text : text.slice(0, zone);
  if (!ipaddr.isValid(bare) || (!bare.includes(':') && !ipaddr.IPv4.isValidFourPartDecimal(bare))) {
    return { kind: 'refused', range: 'unreadable' };
  }
  const address = unwrap(ipaddr.parse(bare));
  if (allowed.some((network) => contains(network, address))) return { kind: 'allowed_network' };
  const range = address.range();
  if (range !== 'unicast') return { kind: 'refused', range };
  if (address.kind() === 'ipv6' && !GLOBAL_UNICAST.some((network) => contains(network, address))) {
    return { kind: 'refused', range: 'unassigned' };
  }
  if (CLOUD_HOSTS.has(address.toString())) return { kind: 'refused', range: 'cloud_host' };
  if (own.has(address.toString())) return { kind: 'refused', range: 'own_address' };
  return { kind: 'public' };
}

/** The one spelling under which an address is compared, e.g. with the machine's own ones. */
export function canonicalAddress(text: string): string | undefined {
  const bare = text.split('%', 1)[0] ?? '';
  return ipaddr.isValid(bare) ? unwrap(ipaddr.parse(bare)).toString() : undefined;
}

/** All that IANA has given out for global unicast; what is not in it routes nowhere or somewhere private. */
const GLOBAL_UNICAST = [ipaddr.parseCIDR('2000::/3'), ipaddr.parseCIDR('64:ff9b::/96')];
const NAT64 = ipaddr.parseCIDR('64:ff9b::/96');
/** Public by its range, and yet the machine's own host, with its secrets: Azure's WireServer. */
const CLOUD_HOSTS: ReadonlySet<string> = new Set(['168.63.129.16']);

function contains([network, bits]: Network, address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  if (network.kind() === 'ipv4') {
    return address.kind() === 'ipv4' && (address as ipaddr.IPv4).match(network, bits);
  }
  return address.kind() === 'ipv6' && (address as ipaddr.IPv6).match(network, bits);
}

function unwrap(address: ipaddr.IPv4 | ipaddr.IPv6): ipaddr.IPv4 | ipaddr.IPv6 {
  if (address.kind() === 'ipv4') return address;
  const v6 = address as ipaddr.IPv6;
  if (v6.isIPv4MappedAddress()) return v6.toIPv4Address();
  if (contains(NAT64, v6)) return new ipaddr.IPv4(v6.toByteArray().slice(12));
  return v6;
}
