export { backoffMs, backoffWindowMs } from './core/backoff.ts';
export type { FaultPhase } from './core/fault-outcomes.ts';
export type { Route } from './core/answer-outcomes.ts';
export { readBodySigns } from './core/body-signs.ts';
export type { BodySigns } from './core/body-signs.ts';
export type { Circuit, CircuitRules } from './core/circuit.ts';
export type * from './core/classify-outcome.ts';
export { classifyAnswer, classifyFault, OUTCOME_CLASSES } from './core/classify-outcome.ts';
export type * from './core/host-effect.ts';
export { parseHttpDate } from './core/http-date.ts';
export type { HttpDateReading } from './core/http-date.ts';
export type * from './core/identifiers.ts';
export { settlePace } from './core/learn-pace.ts';
export type { PaceResult } from './core/learn-pace.ts';
export { NEW_PACE, commitPace, limitPace, paceInterval, paceOpensAt } from './core/pace.ts';
export type * from './core/pace.ts';
export type * from './core/plan-reason.ts';
export { explainReason } from './core/plan-reason.ts';
export type * from './core/plan-retry.ts';
export { planRetry } from './core/plan-retry.ts';
export {
  hostKeyThrough,
  hostOfScope,
  PROXY_CIRCUIT,
  PROXY_FAILURE_POINTS,
  proxyOfScope,
  proxyScope,
} from './core/proxy-circuit.ts';
export type { ProxyFailure } from './core/proxy-circuit.ts';
export type * from './core/policy.ts';
export { PRESET_NAMES, PRESETS } from './core/presets.ts';
export type { PresetName } from './core/presets.ts';
export type * from './core/retry-budget.ts';
export { batchTokenTotal, costMicrosOf, spendReached } from './core/retry-budget.ts';
export type { ServerWait } from './core/server-wait.ts';
export { explainReading } from './core/explain-wait.ts';
export { isQuotaSpent, readServerWait, waitReaderOf, waitScopeOf } from './core/read-server-wait.ts';
export type * from './core/read-server-wait.ts';
export { parseRetryAfterLenient, parseRetryAfterStrict } from './core/retry-after.ts';
export type * from './core/retry-after.ts';
export { parseSloppyDate } from './core/sloppy-date.ts';
export { STOP_REASONS } from './core/stop-reason.ts';
export type { StopReason } from './core/stop-reason.ts';
export type * from './gate/gate.ts';
export type * from './gate/join-run.ts';
export type * from './gate/proxy-gate.ts';
export { CIRCUIT_STATES, WAIT_CAUSES } from './gate/gate.ts';
export type { BatchRequest } from './gate/host-rules.ts';
export { batchDefaultsOf, hostRulesOf } from './gate/host-rules.ts';
export { createMemoryGate } from './gate/memory-gate.ts';
export { WheelTimer } from './gate/wheel-timer.ts';
export type { WheelTimerOptions } from './gate/wheel-timer.ts';
export { runFailingBatch } from './simulation/failing-batch.ts';
export { climbLadder, obeyHeader } from './simulation/ladder.ts';
export { hammerHost, refusedShare, shareHost } from './simulation/limited-host.ts';
