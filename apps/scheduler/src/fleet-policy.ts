import type { Redis } from 'ioredis';
import type { Logger } from '@holdoff/service-runtime';
import type { HostKey, Policy, SpendLimits } from '@holdoff/throttle-core';
import {
  type PolicyFile,
  parsePolicyFile,
  printProblem,
  resolvePolicy,
  spendPolicyOf,
} from '@holdoff/throttle-core/policy-file';
import { type PolicyFollower, followPolicy } from '@holdoff/throttle-core/redis';
import type { EntryPolicies } from './enter-through-gate.ts';

const CHECK_EVERY_MS = 5_000;

/** The fleet's policy as this scheduler enters jobs by it. Follows new versions; the balanced preset before the first. */
export class FleetPolicy implements EntryPolicies {
  readonly #follower: PolicyFollower;

  constructor(follower: PolicyFollower) {
    this.#follower = follower;
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
    return new FleetPolicy(follower);
  }

  /** 0: none was published. */
  get version(): number {
    return this.#follower.current().version;
  }

  forHost(hostname: string): { readonly hostKey: HostKey; readonly policy: Policy } {
    return resolvePolicy(this.#follower.current().file, hostname);
  }

  /** What applies to no host in particular. */
  forBatch(): { readonly policy: Policy; readonly spend: SpendLimits } {
    const { file } = this.#follower.current();
    return { policy: resolvePolicy(file, '').policy, spend: spendPolicyOf(file).limits };
  }

  close(): Promise<void> {
    return this.#follower.close();
  }
}

function balanced(): PolicyFile {
  const parsed = parsePolicyFile('', 'built-in');
  if (parsed.kind === 'invalid') throw new Error('the built-in policy must be valid');
  return parsed.file;
}
