/** Redis did not answer: nothing may be dispatched. Whether the command took effect is unknown; ask again with the same nonce. */
export class GateUnavailable extends Error {
  readonly code = 'GATE_UNAVAILABLE';

  constructor(command: string, cause: unknown) {
    super(
      `the gate's Redis is unavailable (${command}): ${cause instanceof Error ? cause.message : 'unknown'}`,
      {
        cause,
      },
    );
    this.name = 'GateUnavailable';
  }
}

/** Answers of a server that is there but cannot serve now. Any other error reply is a defect of ours. */
const TEMPORARY_REPLY =
  /^(LOADING|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|OOM|NOREPLICAS|BUSY|MISCONF|UNBLOCKED|NOAUTH|WRONGPASS)\b/;

export function asGateError(command: string, error: unknown): unknown {
  if (error instanceof Error && error.name === 'ReplyError' && !TEMPORARY_REPLY.test(error.message))
    return error;
  return new GateUnavailable(command, error);
}
