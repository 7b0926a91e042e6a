import { canonicalHost, type HostPattern } from './host-pattern.ts';

/** Entries by the hosts they are for. A look-up costs one step for each label of the name, however many entries. */
export class HostIndex<T> {
  readonly #exact = new Map<string, T>();
  readonly #suffixes = new Map<string, T>();

  constructor(entries: readonly (readonly [HostPattern, T])[]) {
    for (const [pattern, entry] of entries) {
      if (pattern.kind === 'exact') this.#exact.set(pattern.host, entry);
      else this.#suffixes.set(pattern.suffix, entry);
    }
  }

  exact(host: string): T | undefined {
    return this.#exact.get(canonicalHost(host));
  }

  /** The entry of the longest suffix. */
  suffix(host: string): T | undefined {
    const name = canonicalHost(host);
    for (let dot = name.indexOf('.'); dot !== -1; dot = name.indexOf('.', dot + 1)) {
      const entry = this.#suffixes.get(name.slice(dot));
      // `*.test` is for names under `test`: something must stand before the dot.
      if (entry !== undefined && dot > 0) return entry;
    }
    return undefined;
  }

  /** The exact entry, else that of the longest suffix. */
  best(host: string): T | undefined {
    return this.exact(host) ?? this.suffix(host);
  }
}
