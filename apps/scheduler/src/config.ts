import { hostname } from 'node:os';
import { z } from 'zod';
import { readSettings, STORE_SETTINGS, WATCHING_SETTINGS, wholeNumber } from '@holdoff/service-runtime';

/** Settings of one scheduler process, read once. Each field: meaning, unit, default. */
export const schedulerConfigSchema = z.object({
  ...STORE_SETTINGS,
  SCHEDULER_ID: z
    .string()
    .regex(/^[\w.-]{1,64}$/)
    .default(`${hostname().slice(0, 40)}-${process.pid}`)
    .describe('Name of this process in logs and as a consumer of the inbox; unique in the deployment'),
  POLICY_FILE: z
    .string()
    .default('')
    .describe('Policy file to publish at the start and on every change; empty: publish none'),
  SCHEDULES_FILE: z
    .string()
    .default('')
    .describe('Schedule file of recurring work, followed on every change; empty: this scheduler runs none'),
  INBOX_BATCH: wholeNumber(1, 500).default(500).describe('Inbox entries taken at a time'),
  INBOX_CLAIM_AFTER_MS: wholeNumber(1_000, 3_600_000)
    .default(30_000)
    .describe('How long an entry may lie with a scheduler before another one takes it over, ms'),
  REJECTED_KEPT: wholeNumber(100, 1_000_000)
    .default(10_000)
    .describe('Refused entries kept in the stream of rejections'),
  BACKLOG_MAX: wholeNumber(1, 1_000_000_000)
    .default(1_000_000)
    .describe('Live jobs from which the inbox is left alone until there are fewer'),
  MEMORY_SHARE_MAX: z.coerce
    .number()
    .min(0.1)
    .max(1)
    .default(0.8)
    .describe("Share of Redis' maxmemory from which the inbox is left alone"),
  SWEEP_EVERY_MS: wholeNumber(100, 600_000)
    .default(5_000)
    .describe('How often unreadable jobs and forgotten waits are looked for, ms'),
  CLOCK_SKEW_MAX_MS: wholeNumber(100, 60_000)
    .default(1_000)
    .describe("Difference to Redis' clock from which this scheduler is not ready, ms"),
  ...WATCHING_SETTINGS,
});

export type SchedulerConfig = Readonly<z.infer<typeof schedulerConfigSchema>>;

/** @throws Error that names each bad setting and what it must be, never its value. */
export function readConfig(environment: NodeJS.ProcessEnv = process.env): SchedulerConfig {
  return readSettings(schedulerConfigSchema, environment);
}
