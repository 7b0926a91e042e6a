import { z } from 'zod';

/** A whole number within its bounds, as text in an environment variable. */
export function wholeNumber(least: number, most: number) {
  return z.coerce.number().int().min(least).max(most);
}

/** Where the fleet's shared state is. */
export const STORE_SETTINGS = {
  REDIS_URL: z
    .url({ protocol: /^rediss?$/ })
    .default('redis://127.0.0.1:6379')
    .describe('Redis or Valkey that holds the queue and the gate'),
  HOLDOFF_DEPLOYMENT: z
    .string()
    .regex(/^[a-z0-9][a-z0-9-]{0,31}$/)
    .default('holdoff')
    .describe('Name of the deployment: the hash tag of all its keys'),
};

/** How a service is watched. */
export const WATCHING_SETTINGS = {
  METRICS_HOST: z.string().min(1).default('127.0.0.1').describe('Address of /metrics, /healthz and /readyz'),
  METRICS_PORT: wholeNumber(0, 65_535)
    .default(9464)
    .describe('Port of /metrics, /healthz and /readyz; 0: any free one'),
  LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
    .default('info')
    .describe('Least severe level that is logged'),
};

/**
 * Settings from environment variables, frozen. Variables set but empty count as not set.
 *
 * @throws Error that names each bad setting and what it must be, never its value: a Redis URL carries a password.
 */
export function readSettings<Shape extends z.ZodRawShape>(
  schema: z.ZodObject<Shape>,
  environment: NodeJS.ProcessEnv,
): Readonly<z.infer<z.ZodObject<Shape>>> {
  const given = Object.fromEntries(
    Object.entries(environment).filter(([name, value]) => name in schema.shape && value !== ''),
  );
  const parsed = schema.safeParse(given);
  if (parsed.success) return Object.freeze(parsed.data);
  const faults = parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
  throw new Error(`bad configuration: ${faults.join('; ')}`);
}
