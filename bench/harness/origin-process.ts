import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { HostStats, OriginDescriptionInput, OriginStats, SeenRequest } from '@holdoff/sample-origin';
import { Child } from './child.ts';
import { ROOT } from './root.ts';

interface Ready {
  readonly ready: true;
  readonly adminUrl: string;
  readonly port: number;
  readonly hosts: Readonly<Record<string, string>>;
}

/** A sample origin in a process of its own, so that its work is not counted as the client's. */
export class OriginProcess {
  readonly #child: Child;
  readonly #ready: Ready;

  private constructor(child: Child, ready: Ready) {
    this.#child = child;
    this.#ready = ready;
  }

  static async start(description: OriginDescriptionInput): Promise<OriginProcess> {
    const folder = await mkdtemp(join(tmpdir(), 'holdoff-bench-'));
    const file = join(folder, 'origin.json');
    await writeFile(file, JSON.stringify(description));
    const main = join(ROOT, 'apps/sample-origin/dist/main.js');
    const child = new Child('the sample origin', { args: [main, '--file', file, '--json'] });
    try {
      const line = await child.line((text) => text.startsWith('{"ready"'), 20_000);
      return new OriginProcess(child, JSON.parse(line) as Ready);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  get port(): number {
    return this.#ready.port;
  }

  urlOf(host: string): string {
    const url = this.#ready.hosts[host];
    if (url === undefined) throw new Error(`the origin has no host named ${host}`);
    return url;
  }

  /** `count` distinct URLs of each host, host after host. */
  urls(hosts: readonly string[], count: number): string[] {
    return hosts.flatMap((host) => Array.from({ length: count }, (_, n) => `${this.urlOf(host)}/page/${n}`));
  }

  async stats(): Promise<OriginStats> {
    return (await (await fetch(`${this.#ready.adminUrl}/stats`)).json()) as OriginStats;
  }

  /** Sums and extremes over some hosts: what a judge wants to know of one contender. */
  async judge(hosts: readonly string[]): Promise<Verdict> {
    const wanted = new Set(hosts);
    return verdictOf((await this.stats()).hosts.filter(({ host }) => wanted.has(host)));
  }

  async log(): Promise<SeenRequest[]> {
    const text = await (await fetch(`${this.#ready.adminUrl}/log`)).text();
    return text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as SeenRequest);
  }

  async reset(): Promise<void> {
    await fetch(`${this.#ready.adminUrl}/reset`, { method: 'POST' });
  }

  stop(): Promise<void> {
    return this.#child.stop();
  }
}

/** What the origin saw of one contender. */
export interface Verdict {
  readonly requests: number;
  readonly served: number;
  /** Share of the requests that were answered with 429. */
  readonly throttledShare: number;
  readonly afterNotice: number;
  /** From the first to the last request, s. */
  readonly seconds: number;
}

function verdictOf(hosts: readonly HostStats[]): Verdict {
  const sum = (of: (host: HostStats) => number): number => hosts.reduce((total, host) => total + of(host), 0);
  const seen = hosts.filter(({ requests }) => requests > 0);
  const first = Math.min(...seen.map(({ firstAtMs }) => firstAtMs ?? Number.POSITIVE_INFINITY));
  const last = Math.max(...seen.map(({ lastAtMs }) => lastAtMs ?? Number.NEGATIVE_INFINITY));
  const requests = sum((host) => host.requests);
  return {
    requests,
    served: sum((host) => host.served),
    throttledShare: requests === 0 ? 0 : sum((host) => host.throttled429) / requests,
    afterNotice: sum((host) => host.inCooldown.afterNotice),
    seconds: seen.length === 0 ? 0 : (last - first) / 1000,
  };
}
