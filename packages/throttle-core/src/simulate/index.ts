export type { HostReport, SimulationResult } from './result.ts';
export { idealMs, throttledShare } from './result.ts';
export type {
  Scenario,
  SimulatedAnswer,
  SimulatedFleet,
  SimulatedHost,
  SimulatedOrigin,
} from './scenario.ts';
export { EPOCH_MS } from './scenario.ts';
export { seededRandom } from './seeded-random.ts';
export type { SendObserver } from './simulate.ts';
export { simulate } from './simulate.ts';
export type { Timeline } from './timeline.ts';
