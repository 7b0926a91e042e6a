import { readFile, stat } from 'node:fs/promises';
import { basename } from 'node:path';
import type { Redis } from 'ioredis';
import type { Logger } from '@holdoff/service-runtime';
import { printProblem } from '@holdoff/throttle-core/policy-file';
import { publishPolicy } from '@holdoff/throttle-core/redis';
import { Repeat } from './repeat.ts';

export interface PolicyPublisherOptions {
  readonly path: string;
  readonly redis: Redis;
  readonly deployment: string;
  /** Who publishes, for people. */
  readonly by: string;
  readonly logger: Logger;
}

const LOOK_EVERY_MS = 2_000;
const PROBLEMS_SHOWN_MAX = 20;
/** The policy schema allows a mebibyte; a larger file is not even read. */
const FILE_BYTES_MAX = 1_048_576;

/**
 * Makes a policy file the fleet's policy, at the start and whenever it changes. The file is looked at rather than
 * watched: mounted files are replaced behind links, and watchers miss that.
 */
export class PolicyPublisher {
  readonly #options: PolicyPublisherOptions;
  readonly #looking = new Repeat();
  #seen = '';
  #problem: string | null = null;

  constructor(options: PolicyPublisherOptions) {
    this.#options = options;
  }

  /** Why the file as it is now is not in force, or null. */
  get problem(): string | null {
    return this.#problem;
  }

  /** @throws Error with all that is wrong with the file: nothing begins under another policy than the one named */
  async start(): Promise<void> {
    await this.#look();
    if (this.#problem !== null) throw new Error(this.#problem);
    this.#looking.start(
      LOOK_EVERY_MS,
      () => this.#look(),
      (error) =>
        this.#options.logger.warn('the policy could not be published; it will be tried again', { error }),
    );
  }

  stop(): Promise<void> {
    return this.#looking.stop();
  }

  async #look(): Promise<void> {
    const { path, redis, deployment, by, logger } = this.#options;
    const mark = await fileMark(path);
    if (mark === this.#seen) return;
    const problem = await this.#publish(path, redis, deployment, by);
    if (problem !== null && problem !== this.#problem)
      logger.error('policy not published', { path, problem });
    this.#problem = problem;
    this.#seen = mark;
  }

  /** What is wrong with the file, or null once it is in force. Rejects when Redis does not answer. */
  async #publish(path: string, redis: Redis, tag: string, by: string): Promise<string | null> {
    const text = await readPolicyText(path);
    if (text.kind === 'unreadable') return text.problem;
    const reply = await publishPolicy(redis, { text: text.text, name: basename(path), by, tag });
    if (reply.kind === 'refused') {
      return reply.problems.slice(0, PROBLEMS_SHOWN_MAX).map(printProblem).join('; ');
    }
    if (reply.kind === 'published')
      this.#options.logger.info('policy published', { path, version: reply.version });
    return null;
  }
}

async function fileMark(path: string): Promise<string> {
  try {
    const { mtimeMs, size, ino } = await stat(path);
    return `${mtimeMs} ${size} ${ino}`;
  } catch {
    return 'unreadable';
  }
}

async function readPolicyText(
  path: string,
): Promise<
  { readonly kind: 'text'; readonly text: string } | { readonly kind: 'unreadable'; readonly problem: string }
> {
  try {
    const { size } = await stat(path);
    if (size > FILE_BYTES_MAX) {
      return { kind: 'unreadable', problem: `policy file ${path} is larger than ${FILE_BYTES_MAX} bytes` };
    }
    return { kind: 'text', text: await readFile(path, 'utf8') };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    return { kind: 'unreadable', problem: `policy file ${path} cannot be read (${code})` };
  }
}
