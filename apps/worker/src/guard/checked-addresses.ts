import type { LookupAddress, LookupOptions } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { callbackify } from 'node:util';
import type { AddressGuard } from './address-guard.ts';
import type { Resolve } from './resolver.ts';

/** A socket was about to go where the guard does not allow. */
export class AddressNotAllowedError extends Error {
  override readonly name = 'AddressNotAllowedError';
  readonly code = 'E_ADDRESS_NOT_ALLOWED';
}

/** More than this many addresses of one name are checked but not tried. */
const ADDRESSES_TRIED_MAX = 8;
const ADDRESSES_MAX = 256;

/**
 * Resolves a host and returns only addresses a socket may go to. One bad address refuses the whole name: a name
 * that is public and private at once is how a guard is talked into connecting to the second one.
 * Rejects with `AddressNotAllowedError` or the resolver's `ResolveError`.
 */
export async function checkedAddresses(
  hostname: string,
  port: number,
  guard: AddressGuard,
  resolve: Resolve,
): Promise<readonly string[]> {
  const addresses = isIP(hostname) === 0 ? await resolve(hostname) : [hostname];
  if (addresses.length === 0 || addresses.length > ADDRESSES_MAX) {
    throw new AddressNotAllowedError(`name has ${addresses.length} addresses`);
  }
  for (const address of addresses) {
    const refusal = guard.refusal(address, port, hostname);
    if (refusal !== undefined) throw new AddressNotAllowedError(refusal.detail);
  }
  return addresses.slice(0, ADDRESSES_TRIED_MAX);
}

/**
 * `net.connect`'s lookup for one port. The socket goes to exactly the addresses that were checked, so a second,
 * different answer from DNS has nobody to mislead.
 */
export function checkedLookup(port: number, guard: AddressGuard, resolve: Resolve): LookupFunction {
  const pick = async (hostname: string, options: LookupOptions): Promise<LookupAddress[]> => {
    const addresses = await checkedAddresses(hostname, port, guard, resolve);
    const found = addresses.map((address) => ({ address, family: isIP(address) }));
    const wanted = FAMILIES.get(options.family ?? 0);
    const usable = wanted === undefined ? found : found.filter(({ family }) => family === wanted);
    if (usable.length === 0) throw new AddressNotAllowedError('no address of the wanted family');
    return usable;
  };
  const lookup = callbackify(pick);
  return (hostname, options, callback) => {
    lookup(hostname, options, (error, addresses) => {
      const [first] = addresses ?? [];
      if (error !== null || first === undefined) callback(error, []);
      else if (options.all === true) callback(null, addresses);
      else callback(null, first.address, first.family);
    });
  };
}

const FAMILIES: ReadonlyMap<number | string, number> = new Map<number | string, number>([
  [4, 4],
  ['IPv4', 4],
  [6, 6],
  ['IPv6', 6],
]);
