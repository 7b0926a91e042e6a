import { STOP_REASONS } from '@holdoff/throttle-core';
import { batchIdOf, hostKeyOf, OperatorFault } from './operator-command.ts';
import type { StoppedFilter } from './read-stopped.ts';

export interface FilterFlags {
  readonly batch?: string;
  readonly reason?: string;
  readonly host?: string;
}

/** @throws OperatorFault for a name that can match nothing: an empty answer would look like good news */
export function stoppedFilterOf({ batch, reason, host }: FilterFlags): StoppedFilter {
  if (reason !== undefined && !(STOP_REASONS as readonly string[]).includes(reason)) {
    throw new OperatorFault(
      `--reason must be one of ${STOP_REASONS.join(', ')}, not ${JSON.stringify(reason)}`,
    );
  }
  return {
    batch: batch === undefined ? null : batchIdOf(batch),
    reason: reason ?? null,
    host: host === undefined ? null : hostKeyOf(host),
  };
}
