export { connectGate, gateReady } from './connection.ts';
export type { GateConnectionOptions } from './connection.ts';
export { GateUnavailable } from './gate-unavailable.ts';
export { keyNames } from './key-names.ts';
export type { KeyNames } from './key-names.ts';
export { createRedisGate } from './redis-gate.ts';
export type { RedisGateOptions } from './redis-gate.ts';
