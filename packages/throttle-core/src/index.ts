export type * from './core/classify-outcome.ts';
export { OUTCOME_CLASSES } from './core/classify-outcome.ts';
export type * from './core/identifiers.ts';
export type * from './core/policy.ts';
export { STOP_REASONS } from './core/stop-reason.ts';
export type { StopReason } from './core/stop-reason.ts';
export type * from './gate/gate.ts';
export { WheelTimer } from './gate/wheel-timer.ts';
export type { WheelTimerOptions } from './gate/wheel-timer.ts';
