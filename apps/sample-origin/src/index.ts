export type {
  HostDescriptionInput,
  OriginDescriptionInput,
  RetryAfterForm,
  RuleInput,
} from './description.ts';
export { parseDescription } from './description.ts';
export type { HostStats } from './host-stats.ts';
export type { SeenRequest } from './request-log.ts';
export { SCENARIOS } from './scenarios.ts';
export { type OriginStats, type SampleOrigin, startSampleOrigin } from './start-sample-origin.ts';
export { createVirtualHost, type VirtualAnswer, type VirtualHost } from './virtual-host.ts';
