import type { Redis } from 'ioredis';
import type { Logger } from '@holdoff/service-runtime';
import { type HostKey, hostKeyThrough, type Policy, type SpendLimits } from '@holdoff/throttle-core';
import {
  type PolicyFile,
  parsePolicyFile,
  printProblem,
  resolvePolicy,
  spendPolicyOf,
} from '@holdoff/throttle-core/policy-file';
import { type PolicyFollower, followPolicy } from '@holdoff/throttle-core/redis';
import {
  chooseExit,
  type ExitQuestion,
  knownProxyPools,
  type ProxyExit,
  type ProxyPools,
  queueNames,
} from '@holdoff/url-job';
import type { EntryPolicies } from './enter-through-gate.ts';

const CHECK_EVERY_MS = 5_000;
/** More than any policy has. */
const CONCURRENCY_UNKNOWN = 1_000_000;

/** The exits that the workers have, looked up again now and then. */
class Exits {
  #pools: ProxyPools = new Map();
  readonly #timer: NodeJS.Timeout;

  private constructor(look: () => Promise<ProxyPools>) {
    this.#timer = setInterval(() => void this.#look(look), CHECK_EVERY_MS);
    this.#timer.unref();
  }

  static async follow(redis: Redis, deployment: string): Promise<Exits> {
    const look = (): Promise<ProxyPools> => knownProxyPools(redis, queueNames(deployment));
    const exits = new Exits(look);
    await exits.#look(look);
    return exits;
  }

  /** null: no worker has told of this pool. */
  of(pool: string, question: ExitQuestion): ProxyExit | null {
    const known = this.#pools.get(pool);
    return known === undefined ? null : chooseExit(known, question);
  }

  close(): void {
    clearInterval(this.#timer);
  }

  async #look(look: () => Promise<ProxyPools>): Promise<void> {
    // While Redis is away the pools are what they were.
    this.#pools = await look().catch(() => this.#pools);
  }
}

/** The fleet's policy as this scheduler enters jobs by it. Follows new versions; the balanced preset before the first. */
export class FleetPolicy implements EntryPolicies {
  readonly #follower: PolicyFollower;
  readonly #exits: Exits;

  constructor(follower: PolicyFollower, exits: Exits) {
    this.#follower = follower;
    this.#exits = exits;
  }

  /** @throws GateUnavailable when Redis does not answer */
  static async follow(redis: Redis, deployment: string, logger: Logger): Promise<FleetPolicy> {
    const follower = await followPolicy(redis, {
      tag: deployment,
      fallback: balanced(),
      checkEveryMs: CHECK_EVERY_MS,
      onChange: ({ version }) => logger.info('policy in force', { version }),
      onRefused: ({ version, problems }) =>
        logger.error('the published policy cannot be used here; the one before stays', {
          version,
          problems: problems.slice(0, 5).map(printProblem),
        }),
      onUnavailable: (error) => logger.warn('the policy version could not be looked up', { error }),
    });
    return new FleetPolicy(follower, await Exits.follow(redis, deployment));
  }

  /** 0: none was published. */
  get version(): number {
    return this.#follower.current().version;
  }

  forHost(
    hostname: string,
    entry: Pick<ExitQuestion, 'batch' | 'job'>,
  ): { readonly hostKey: HostKey; readonly policy: Policy } {
    const { hostKey, policy, settings } = resolvePolicy(this.#follower.current().file, hostname);
    if (settings.throttleScope !== 'exit' || settings.proxyRef === null) return { hostKey, policy };
    const exit = this.#exits.of(settings.proxyRef, { ...entry, host: hostKey });
    // Nobody settles at the host itself, so nobody would call from its lane: the job goes to a worker at once.
    if (exit === null) return { hostKey, policy: { ...policy, concurrency: CONCURRENCY_UNKNOWN } };
    return { hostKey: hostKeyThrough(hostKey, exit.proxy), policy };
  }

  /** What applies to no host in particular. */
  forBatch(): { readonly policy: Policy; readonly spend: SpendLimits } {
    const { file } = this.#follower.current();
    return { policy: resolvePolicy(file, '').policy, spend: spendPolicyOf(file).limits };
  }

  close(): Promise<void> {
    this.#exits.close();
    return this.#follower.close();
  }
}

function balanced(): PolicyFile {
  const parsed = parsePolicyFile('', 'built-in');
  if (parsed.kind === 'invalid') throw new Error('the built-in policy must be valid');
  return parsed.file;
}
