import type { Redis } from 'ioredis';
import type { Logger } from '@holdoff/service-runtime';
import { hostRulesOf } from '@holdoff/throttle-core';
import {
  parsePolicyFile,
  type PolicyFile,
  printProblem,
  resolvePolicy,
  spendPolicyOf,
} from '@holdoff/throttle-core/policy-file';
import { followPolicy, type PolicyInForce } from '@holdoff/throttle-core/redis';
import type { Scope } from './attempt.ts';

/** Resolved scopes are kept for this many hostnames; beyond it the oldest is resolved again. */
const SCOPES_KEPT = 10_000;
const CHECK_EVERY_MS = 10_000;

/** The policy version in force, and what it says of a URL. */
export class PolicyView {
  #inForce: PolicyInForce;
  readonly #scopes = new Map<string, Scope>();

  constructor(inForce: PolicyInForce) {
    this.#inForce = inForce;
  }

  get version(): number {
    return this.#inForce.version;
  }

  replace(inForce: PolicyInForce): void {
    this.#inForce = inForce;
    this.#scopes.clear();
  }

  /** @throws TypeError when `url` is not an absolute URL; callers pass checked ones. */
  scopeOf(url: string): Scope {
    return this.#scope(new URL(url).hostname);
  }

  /** `hostname` without brackets, as sockets take it. */
  scopeOfHost(hostname: string): Scope {
    return this.#scope(hostname.includes(':') ? `[${hostname}]` : hostname);
  }

  #scope(hostname: string): Scope {
    const known = this.#scopes.get(hostname);
    if (known !== undefined) return known;
    const { hostKey, policy, settings } = resolvePolicy(this.#inForce.file, hostname);
    const rules = hostRulesOf(policy);
    const prices = spendPolicyOf(this.#inForce.file);
    const policyVersion = this.#inForce.version;
    const scope: Scope = { host: hostKey, policy, settings, prices, rules, policyVersion };
    const [oldest] = this.#scopes.keys();
    if (this.#scopes.size >= SCOPES_KEPT && oldest !== undefined) this.#scopes.delete(oldest);
    this.#scopes.set(hostname, scope);
    return scope;
  }
}

/** The fleet's policy as it is now, followed until `stop`. Before any was published the `balanced` preset holds. */
export async function followFleetPolicy(
  redis: Redis,
  deployment: string,
  logger: Logger,
): Promise<{ readonly view: PolicyView; stop(): Promise<void> }> {
  const view = new PolicyView({ version: 0, file: balancedPreset() });
  const follower = await followPolicy(redis, {
    tag: deployment,
    fallback: balancedPreset(),
    checkEveryMs: CHECK_EVERY_MS,
    onChange: (inForce) => {
      view.replace(inForce);
      logger.info('policy in force', { version: inForce.version });
    },
    onRefused: ({ version, problems }) =>
      logger.error('policy refused, the one before stays', { version, problems: problems.map(printProblem) }),
    onUnavailable: (error) => logger.debug('policy could not be looked up', { error }),
  });
  view.replace(follower.current());
  return { view, stop: () => follower.close() };
}

function balancedPreset(): PolicyFile {
  const parsed = parsePolicyFile('', 'balanced preset');
  if (parsed.kind === 'invalid') throw new Error('the empty policy file must be valid');
  return parsed.file;
}
