import { shareTokens } from '../core/retry-budget.ts';
import type { BatchId } from '../core/identifiers.ts';
import { STOP_REASONS, type StopReason } from '../core/stop-reason.ts';
import type { BatchSnapshot } from '../gate/gate.ts';

export function decodeBatch(batch: BatchId, fields: ReadonlyMap<string, string>): BatchSnapshot {
  const number = (name: string): number => Number(fields.get(name) ?? 0);
  const stoppedBy: Partial<Record<StopReason, number>> = {};
  for (const reason of STOP_REASONS) {
    const count = number(`stop:${reason}`);
    if (count > 0) stoppedBy[reason] = count;
  }
  return {
    batch,
    owner: fields.get('owner') ?? '',
    approved: number('approved') === 1,
    cancelled: number('cancelled') === 1,
    createdAtMs: number('created'),
    deadlineMs: number('deadline'),
    tokens: decodeTokens(fields),
    jobs: { total: number('jobs'), done: number('done'), stopped: number('stopped') },
    stoppedBy,
    away: number('away'),
    movedOn: number('moved'),
    attempts: number('attempts'),
    resends: number('spent'),
    requests: number('requests'),
    recovered: number('recovered'),
    deferrals: number('deferrals'),
    throttled: number('throttled'),
    bytes: number('bytes'),
    costMicros: number('cost'),
    spend: {
      bytesMax: number('bytesMax'),
      requestsMax: number('requestsMax'),
      costMicrosMax: number('costMax'),
    },
  };
}

/** fragments/batch-state.lua computes the same. */
export function decodeTokens(fields: ReadonlyMap<string, string>): { total: number; spent: number } | null {
  const number = (name: string): number => Number(fields.get(name) ?? 0);
  const mode = fields.get('mode') ?? 'off';
  if (mode === 'off') return null;
  const base =
    mode === 'fixed' ? number('fixed') : shareTokens(number('share'), number('least'), number('jobs'));
  return { total: base + number('extra'), spent: number('spent') };
}
