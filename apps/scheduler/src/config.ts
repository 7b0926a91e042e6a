import { hostname } from 'node:os';
import { z } from 'zod';

const whole = (least: number, most: number) => z.coerce.number().int().min(least).max(most);

/** Settings of one scheduler process, read once. Each field: meaning, unit, default. */
export const schedulerConfigSchema = z.object({
  REDIS_URL: z
    .url({ protocol: /^rediss?$/ })
    .default('redis://127.0.0.1:6379')
    .describe('Redis or Valkey that holds the queue and the gate'),
  HOLDOFF_DEPLOYMENT: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,31}$/)
    .default('holdoff')
    .describe('Name of the deployment: the hash tag of all its keys'),
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
  INBOX_BATCH: whole(1, 500).default(500).describe('Inbox entries taken at a time'),
  INBOX_CLAIM_AFTER_MS: whole(1_000, 3_600_000)
    .default(30_000)
    .describe('How long an entry may lie with a scheduler before another one takes it over, ms'),
  REJECTED_KEPT: whole(100, 1_000_000)
    .default(10_000)
    .describe('Refused entries kept in the stream of rejections'),
  BACKLOG_MAX: whole(1, 1_000_000_000)
    .default(1_000_000)
    .describe('Live jobs from which the inbox is left alone until there are fewer'),
  MEMORY_SHARE_MAX: z.coerce
    .number()
    .min(0.1)
    .max(1)
    .default(0.8)
    .describe("Share of Redis' maxmemory from which the inbox is left alone"),
  SWEEP_EVERY_MS: whole(100, 600_000)
    .default(5_000)
    .describe('How often unreadable jobs and forgotten waits are looked for, ms'),
  CLOCK_SKEW_MAX_MS: whole(100, 60_000)
    .default(1_000)
    .describe("Difference to Redis' clock from which this scheduler is not ready, ms"),
  METRICS_HOST: z.string().min(1).default('127.0.0.1').describe('Address of /metrics, /healthz and /readyz'),
  METRICS_PORT: whole(0, 65_535)
    .default(9464)
    .describe('Port of /metrics, /healthz and /readyz; 0: any free one'),
  LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
    .default('info')
    .describe('Least severe level that is logged'),
});

export type SchedulerConfig = Readonly<z.infer<typeof schedulerConfigSchema>>;

/** @throws Error that names each bad field and what it must be, never its value: a Redis URL carries a password */
export function readConfig(environment: NodeJS.ProcessEnv = process.env): SchedulerConfig {
  const given = Object.fromEntries(
    Object.entries(environment).filter(
      ([name, value]) => name in schedulerConfigSchema.shape && value !== '',
    ),
  );
  const parsed = schedulerConfigSchema.safeParse(given);
  if (parsed.success) return Object.freeze(parsed.data);
  const faults = parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
  throw new Error(`bad configuration: ${faults.join('; ')}`);
}
