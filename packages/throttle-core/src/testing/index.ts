export { type CuttingProxy, startCuttingProxy } from './cutting-proxy.ts';
export { tableBetweenMarks, tableUnderHeading } from './docs-table.ts';
export { GateFixture, OPEN_BATCH, PLAIN_RULES } from './gate-fixture.ts';
export { ManualClock } from './manual-clock.ts';
export {
  SAMPLE_NOW_MS,
  sampleJobFacts,
  sampleOutcome,
  samplePlanInput,
  samplePolicy,
  waitSeconds,
} from './sample-plan-input.ts';
