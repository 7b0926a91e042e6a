export {
  SAMPLE_NOW_MS,
  sampleJobFacts,
  sampleOutcome,
  samplePlanInput,
  samplePolicy,
  waitSeconds,
} from './sample-plan-input.ts';
