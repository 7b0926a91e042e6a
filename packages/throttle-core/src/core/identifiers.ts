/** Branded strings for ids that are easy to mix up. They are made at the edge by the functions that check them. */

declare const brand: unique symbol;
type Branded<Name extends string> = string & { readonly [brand]: Name };

/** The throttling scope of a request: by default the lower-cased ASCII hostname, or the name of a host group. */
export type HostKey = Branded<'HostKey'>;
/** The stable id of a URL job, grammar `j_[A-Za-z0-9_-]{8,64}`. */
export type JobId = Branded<'JobId'>;
/** The name of a batch, grammar `[A-Za-z0-9][A-Za-z0-9._-]{0,63}`. */
export type BatchId = Branded<'BatchId'>;
/** One admitted request: job id, attempt number and hop, unique in the deployment. */
export type LeaseId = Branded<'LeaseId'>;
