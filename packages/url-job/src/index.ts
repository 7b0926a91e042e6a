export type { UrlJob } from './url-job.ts';
