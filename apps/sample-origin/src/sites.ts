import type { HostDescription } from './description.ts';
import type { Site } from './listen.ts';

/** All hosts on `listen` when it is given. Otherwise hosts without an address get the next free one of 127.77.0.0/16; the last octet never is 0 or 255. */
export function sitesOf(hosts: readonly HostDescription[], listen?: string): readonly Site[] {
  if (listen !== undefined) return [{ address: listen, hosts }];
  const taken = new Set(hosts.map((host) => host.address));
  const sites = new Map<string, HostDescription[]>();
  let next = 0;
  const freeAddress = (): string => {
    for (;;) {
      const address = `127.77.${Math.floor(next / 254)}.${(next % 254) + 1}`;
      next += 1;
      if (!taken.has(address)) return address;
    }
  };
  for (const host of hosts) {
    const address = host.address ?? freeAddress();
    const there = sites.get(address);
    if (there === undefined) sites.set(address, [host]);
    else there.push(host);
  }
  return [...sites].map(([address, there]) => ({ address, hosts: there }));
}
