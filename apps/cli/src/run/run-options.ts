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
  /** Absolute path of the module that looks into each page; null: none. */
  readonly handler: string | null;
  /** Absolute path of the file of fields to take out of each page; null: none. */
  readonly extract: string | null;
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
