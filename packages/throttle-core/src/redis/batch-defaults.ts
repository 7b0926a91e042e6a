import type { BatchDefaults } from '../gate/gate.ts';

/** In the order fragments/batch-create.lua reads. */
export function encodeBatchDefaults(defaults: BatchDefaults): (string | number)[] {
  const { tokens, spend } = defaults;
  return [
    tokens.kind,
    tokens.kind === 'share' ? tokens.share : 0,
    tokens.kind === 'share' ? tokens.least : 0,
    tokens.kind === 'fixed' ? tokens.total : 0,
    defaults.approved ? 1 : 0,
    defaults.owner,
    defaults.deadlineMs,
    spend.bytesMax,
    spend.requestsMax,
    spend.costMicrosMax,
  ];
}
