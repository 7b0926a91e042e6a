export { firingsAfter, latestFiring, localDate, runNameOf } from './firings.ts';
export { parseScheduleFile, printScheduleProblem } from './parse-schedule-file.ts';
export type { ParsedScheduleFile, ScheduleProblem } from './parse-schedule-file.ts';
export { scheduleSchema } from './schedule.ts';
export type { Schedule } from './schedule.ts';
export { parseUrlTemplate } from './url-template.ts';
