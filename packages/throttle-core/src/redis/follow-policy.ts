import type { Redis } from 'ioredis';
import { parsePolicyFile, type PolicyFile } from '../policy-file/parse-policy-file.ts';
import type { PolicyProblem } from '../policy-file/problem.ts';
import { keyNames } from './key-names.ts';
import { readStoredPolicy, readStoredPolicyMark, type StoredPolicy } from './policy-store.ts';

/** A policy that a process works by. */
export interface PolicyInForce {
  /** 0: nothing was published, the fallback is in force. */
  readonly version: number;
  readonly file: PolicyFile;
}

export interface FollowPolicyOptions {
  /** Name of the deployment. */
  readonly tag: string;
  /** In force until a first version is published. */
  readonly fallback: PolicyFile;
  /** How often the version is looked up although nothing was heard; a hint can be lost with its connection. */
  readonly checkEveryMs: number;
  /** A new version is in force. */
  readonly onChange: (policy: PolicyInForce) => void;
  /** A stored version cannot be used here: the one before stays in force. Said once for each. */
  readonly onRefused: (refused: RefusedPolicy) => void;
  /** Redis did not answer a look-up: the policy stays, and the next look-up asks again. */
  readonly onUnavailable: (error: unknown) => void;
}

export interface RefusedPolicy {
  readonly version: number;
  /** Empty: the text is not the one that was published. */
  readonly problems: readonly PolicyProblem[];
}

export interface PolicyFollower {
  current(): PolicyInForce;
  /** Looks the version up now. */
  check(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Loads the fleet's policy and follows its changes: at once on a hint over pub/sub, and by looking from time to time.
 * The first load is waited for.
 *
 * @throws GateUnavailable when Redis does not answer the first look-up: a process without the fleet's policy must
 * not start by guessing one.
 */
export async function followPolicy(redis: Redis, options: FollowPolicyOptions): Promise<PolicyFollower> {
  const follower = new Follower(redis, options);
  await follower.load();
  follower.listen();
  return follower;
}

class Follower implements PolicyFollower {
  readonly #redis: Redis;
  readonly #options: FollowPolicyOptions;
  #inForce: PolicyInForce;
  #mark = '';
  #checking: Promise<void> | undefined;
  #checkAgain = false;
  #isClosed = false;
  #subscriber: Redis | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(redis: Redis, options: FollowPolicyOptions) {
    this.#redis = redis;
    this.#options = options;
    this.#inForce = { version: 0, file: options.fallback };
  }

  current(): PolicyInForce {
    return this.#inForce;
  }

  listen(): void {
    const channel = keyNames(this.#options.tag).policyChannel;
    const subscriber = this.#redis.duplicate();
    this.#subscriber = subscriber;
    // The connection comes back by itself; the look-ups of the other one report that Redis is away.
    subscriber.on('error', () => undefined);
    const subscribe = (): void => {
      // A version published while the connection was away is found by looking.
      subscriber.subscribe(channel).then(
        () => this.check(),
        () => undefined,
      );
    };
    subscriber.on('ready', subscribe);
    subscriber.on('message', () => void this.check());
    this.#timer = setInterval(() => void this.check(), this.#options.checkEveryMs);
    this.#timer.unref();
  }

  /** One look-up at a time. A hint that comes during one is followed by another: the first may have read too early. */
  check(): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    if (this.#checking !== undefined) {
      this.#checkAgain = true;
      return this.#checking;
    }
    this.#checking = this.#checkUntilQuiet().finally(() => {
      this.#checking = undefined;
    });
    return this.#checking;
  }

  async #checkUntilQuiet(): Promise<void> {
    do {
      this.#checkAgain = false;
      try {
        await this.load();
      } catch (error) {
        if (!this.#isClosed) this.#options.onUnavailable(error);
        return;
      }
    } while (this.#checkAgain);
  }

  async load(): Promise<void> {
    const { tag } = this.#options;
    const mark = await readStoredPolicyMark(this.#redis, tag);
    if (mark === this.#mark) return;
    const stored = await readStoredPolicy(this.#redis, tag);
    this.#mark = mark;
    // Whoever closed a follower may have let go of what its callbacks use.
    if (stored !== undefined && !this.#isClosed) this.#adopt(stored);
  }

  #adopt({ version, contentHash, text, name }: StoredPolicy): void {
    const parsed = parsePolicyFile(text, name);
    if (parsed.kind === 'invalid') {
      this.#options.onRefused({ version, problems: parsed.problems });
    } else if (parsed.file.contentHash !== contentHash) {
      this.#options.onRefused({ version, problems: [] });
    } else {
      this.#inForce = { version, file: parsed.file };
      this.#options.onChange(this.#inForce);
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearInterval(this.#timer);
    this.#subscriber?.disconnect();
    await this.#checking;
  }
}
