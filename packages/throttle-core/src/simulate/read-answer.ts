import { classifyAnswer, classifyFault } from '../core/classify-outcome.ts';
import type { Outcome } from '../core/outcome.ts';
import type { RetryAfterPolicy } from '../core/policy.ts';
import { type ServerHints, readServerWait } from '../core/read-server-wait.ts';
import type { SimulatedAnswer } from './scenario.ts';

export interface ReadAnswer {
  readonly outcome: Outcome;
  readonly hints: ServerHints;
}

const NO_HINTS: ServerHints = { wait: { kind: 'absent' }, rateLimit: null };

/** Reads an answer as a worker would. Without headers the status says all, so those are read once. */
export class AnswerReader {
  readonly #bare = new Map<number, ReadAnswer>();
  readonly #faults = new Map<string, ReadAnswer>();

  read(answer: SimulatedAnswer, policy: RetryAfterPolicy, receivedAtMs: number): ReadAnswer {
    if (answer.fault !== null) return this.#fault(answer.fault);
    const { status, headers } = answer;
    for (const _ in headers) return whole(status, headers, policy, receivedAtMs);
    const known = this.#bare.get(status);
    if (known !== undefined) return known;
    const read = whole(status, headers, policy, receivedAtMs);
    this.#bare.set(status, read);
    return read;
  }

  #fault(code: string): ReadAnswer {
    const known = this.#faults.get(code);
    if (known !== undefined) return known;
    const outcome = classifyFault({ code, phase: 'headers', route: 'direct' });
    const read = { outcome, hints: NO_HINTS };
    this.#faults.set(code, read);
    return read;
  }
}

function whole(
  status: number,
  headers: SimulatedAnswer['headers'],
  policy: RetryAfterPolicy,
  receivedAtMs: number,
): ReadAnswer {
  return {
    outcome: classifyAnswer({ status, headers, receivedAtMs, route: 'direct', body: null }),
    hints: readServerWait({ status, headers, receivedAtMs }, policy),
  };
}
