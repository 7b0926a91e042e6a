import { startAdmin } from './admin.ts';
import { type OriginDescriptionInput, type RuleInput, parseDescription, parseRules } from './description.ts';
import type { RequestParts } from './handle-request.ts';
import type { HostStats } from './host-stats.ts';
import { closeServer, listenEverywhere } from './listen.ts';
import { LogFile } from './log-file.ts';
import { OriginHost } from './origin-host.ts';
import { RequestLog, type SeenRequest } from './request-log.ts';
import { serveSite } from './serve-site.ts';
import { seededRandom } from './seeded-random.ts';
import { sitesOf } from './sites.ts';

export interface OriginStats {
  readonly hosts: readonly HostStats[];
  readonly logEntriesDropped: number;
  readonly logLinesDropped: number;
}

/** A running origin. */
export interface SampleOrigin {
  readonly port: number;
  /** On 127.0.0.1: `/stats`, `/log`, `/hosts`, `/reset`, `/rules`. */
  readonly adminUrl: string;
  /** Base URL of each host, by name. */
  readonly hosts: ReadonlyMap<string, string>;
  /** Base URL of a host; throws when there is none of that name. */
  readonly urlOf: (hostName: string) => string;
  readonly stats: () => OriginStats;
  /** Newest requests, oldest first. */
  readonly log: () => SeenRequest[];
  /** Puts these rules before the host's own ones until the next call or reset; an empty list takes them away. */
  readonly setRules: (hostName: string, rules: readonly RuleInput[]) => void;
  /** Forgets all requests and starts limiters, cooldowns and changes over. */
  readonly reset: () => void;
  /** Breaks open connections. */
  readonly stop: () => Promise<void>;
}

export async function startSampleOrigin(input: OriginDescriptionInput): Promise<SampleOrigin> {
  const description = parseDescription(input);
  const anchorMs = Date.now() - performance.now();
  const nowMs = (): number => anchorMs + performance.now();

  const sites = sitesOf(description.hosts, description.listen);
  const file = description.log.file === undefined ? null : await LogFile.open(description.log.file);
  const { servers, port } = await listenEverywhere(sites, description).catch(async (error: unknown) => {
    await file?.close();
    throw error;
  });
  const hosts = new Map<string, OriginHost>();
  const log = new RequestLog(description.log.entriesMax);
  const hostNamed = (name: string): OriginHost => {
    const host = hosts.get(name);
    if (host === undefined) throw new Error(`the origin has no host named ${name}`);
    return host;
  };

  const parts: RequestParts = {
    log,
    nowMs,
    draw: seededRandom(description.seed),
    ended: (entry) => file?.write(entry),
    around: { urlOf: (name) => hostNamed(name).url },
  };
  for (const [at, site] of sites.entries()) {
    const here = site.hosts.map((host) => {
      const address = description.listen === undefined ? site.address : host.name;
      return new OriginHost(host, { address, port, noticeMs: description.noticeMs, nowMs: nowMs() });
    });
    for (const host of here) hosts.set(host.description.name, host);
    const server = servers[at];
    if (server !== undefined) serveSite(server, site, here, parts);
  }

  const origin = {
    port,
    hosts: new Map([...hosts].map(([name, host]) => [name, host.url])),
    urlOf: (name: string) => hostNamed(name).url,
    stats: (): OriginStats => ({
      hosts: [...hosts.values()].map((host) => host.stats()),
      logEntriesDropped: log.droppedCount,
      logLinesDropped: file?.droppedCount ?? 0,
    }),
    log: () => [...log.entries()],
    setRules: (name: string, rules: readonly RuleInput[]) => {
      const host = hostNamed(name);
      host.rules = [...parseRules(rules, new Set(hosts.keys())), ...host.description.rules];
    },
    reset: () => {
      log.clear();
      const atMs = nowMs();
      for (const host of hosts.values()) host.reset(atMs);
    },
  };
  const stopServers = async (): Promise<void> => {
    await Promise.all(servers.map(closeServer));
    await file?.close();
  };
  try {
    const admin = await startAdmin(origin, description.adminPort);
    const stop = async (): Promise<void> => {
      await admin.stop();
      await stopServers();
    };
    return { ...origin, adminUrl: admin.url, stop };
  } catch (error) {
    await stopServers();
    throw error;
  }
}
