import type { PolicyFile } from '@holdoff/throttle-core/policy-file';

/** A checked command line of `holdoff run`. */
export interface RunOptions {
  readonly workers: number;
  readonly concurrency: number;
  /** null: a store of our own in the data folder. */
  readonly redisUrl: string | null;
  readonly deployment: string;
  readonly policy: { readonly file: PolicyFile; readonly text: string; readonly name: string } | null;
  /** null: one that belongs to the list of URLs. */
  readonly batch: string | null;
  readonly resultsDir: string;
  readonly dataDir: string;
  readonly allowNetworks: readonly string[];
  readonly json: boolean;
  readonly traceHeaders: boolean;
}

/** The run itself failed; what is wrong with single URLs is part of its result. */
export class RunFault extends Error {
  readonly code = 'RUN_FAULT';

  constructor(message: string, cause?: unknown) {
    super(message, { cause });
    this.name = 'RunFault';
  }
}
