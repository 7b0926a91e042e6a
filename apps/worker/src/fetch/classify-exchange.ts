import {
  type BodySigns,
  classifyAnswer,
  classifyFault,
  type Outcome,
  type Route,
} from '@holdoff/throttle-core';
import type { FetchFault } from './fetch-fault.ts';

/** The head of an answer, as the outcome tables read it. */
export interface AnswerHead {
  readonly status: number;
  readonly headers: Readonly<Record<string, readonly string[]>>;
  readonly receivedAtMs: number;
}

/** The outcome of an answer; `signs` null: its body was not looked at. */
export function outcomeOfAnswer(head: AnswerHead, signs: BodySigns | null, route: Route): Outcome {
  return classifyAnswer({ ...head, route, body: signs });
}

/** The outcome of a faulty exchange: our faults under the codes that the outcome tables know them by. */
export function outcomeOfFault(fault: FetchFault, route: Route): Outcome {
  switch (fault.kind) {
    case 'refused': {
      const code = fault.stop === 'invalid_url' ? 'INVALID_URL' : 'ADDRESS_NOT_ALLOWED';
      return { ...classifyFault({ code, phase: 'queue', route: 'direct' }), detail: fault.detail };
    }
    case 'dns':
      // It was us who asked, whoever was to carry the request.
      return classifyFault({
        code: fault.exists === 'no' ? 'ENOTFOUND' : fault.code,
        phase: 'dns',
        route: 'direct',
      });
    case 'tls_identity':
      return classifyFault({ code: fault.code, phase: 'tls', route });
    case 'deadline':
      return classifyFault({ code: 'ATTEMPT_BUDGET', phase: fault.phase, route });
    case 'cancelled':
      return classifyFault({ code: 'CANCELLED', phase: fault.phase, route });
    case 'transport':
      return classifyFault({ code: fault.code, phase: fault.phase, route });
    case 'truncated': {
      const outcome = classifyFault({ code: 'TRUNCATED', phase: 'body', route });
      return { ...outcome, detail: `answer cut off (${fault.code})` };
    }
    case 'too_large': {
      const code = fault.limit === 'headers' ? 'HEADERS_TOO_LARGE' : 'BODY_TOO_LARGE';
      return { ...classifyFault({ code, phase: 'body', route }), detail: LIMITS[fault.limit] };
    }
    case 'bad_content':
      return {
        ...classifyFault({ code: 'CONTENT_REFUSED', phase: 'body', route }),
        detail: fault.detail,
      };
    case 'proxy':
      return outcomeOfProxy(fault);
  }
}

const LIMITS = {
  wire: 'body larger than the wire limit',
  decoded: 'body larger than the decoded limit',
  ratio: 'body compressed beyond the ratio limit',
  headers: 'header larger than its limit',
} as const;

function outcomeOfProxy({ proxy, answer, code }: Extract<FetchFault, { kind: 'proxy' }>): Outcome {
  const outcome =
    answer === null
      ? classifyFault({ code, phase: 'proxy', route: 'tunnel' })
      : classifyAnswer({ ...answer, route: 'tunnel_setup', body: null });
  return { ...outcome, detail: `proxy ${proxy}: ${outcome.detail}` };
}
