import { SCENARIOS, parseDescription } from '@holdoff/sample-origin';
import { type PolicyFile, parsePolicyFile, printProblem } from '@holdoff/throttle-core/policy-file';
import { stringify as printYaml } from 'yaml';
import { z } from 'zod';

const urls = z.number().int().min(0).max(10_000_000);
const rate = z.number().min(0.001).max(1_000_000);
const shortMs = z.number().min(0).max(60_000);

/**
 * A scenario of `holdoff simulate`, as YAML or an object: an origin as the sample origin takes it (or the name of
 * one of its scenarios), a fleet, and a policy as policy files are written. Durations are ms, rates per second.
 */
const schema = z.strictObject({
  about: z.string().max(200).default(''),
  seed: z
    .number()
    .int()
    .min(0)
    .max(2 ** 32 - 1)
    .default(1),
  /** URLs of each host. */
  urls: urls.default(300),
  /** The pace the fleet knows of each host from earlier runs; null: it knows nothing. */
  learnedPerSecond: rate.nullable().default(null),
  /** Where single hosts differ, by name. */
  hosts: z
    .record(
      z.string(),
      z.strictObject({ urls: urls.optional(), learnedPerSecond: rate.nullable().optional() }),
    )
    .default({}),
  fleet: z
    .strictObject({
      workers: z.number().int().min(1).max(10_000).default(2),
      concurrency: z.number().int().min(1).max(10_000).default(8),
      lateMs: shortMs.default(5),
      sendMs: shortMs.default(3),
      overheadMs: shortMs.default(3),
    })
    .prefault({}),
  /** Retry tokens of the batch; null: the policy's. */
  tokens: z.number().int().min(0).max(100_000_000).nullable().default(null),
  /** Virtual time after which the run is cut. */
  untilMs: z.number().int().min(1).max(31_536_000_000).default(604_800_000),
  policy: z.record(z.string(), z.unknown()).default({}),
  origin: z.union([z.string(), z.record(z.string(), z.unknown())]).default('demo'),
});

export type ScenarioInput = z.input<typeof schema>;

export interface ScenarioFile extends Omit<z.output<typeof schema>, 'policy' | 'origin'> {
  readonly policy: PolicyFile;
  readonly origin: ReturnType<typeof parseDescription>;
}

/** Checks and completes a scenario. Throws one message that names key, fault and rule. */
export function parseScenario(input: unknown, name: string): ScenarioFile {
  const parsed = schema.safeParse(input);
  if (!parsed.success) throw new Error(`${name}: ${faultsOf(parsed.error)}`);
  const { policy, origin, ...rest } = parsed.data;
  const description = described(originOf(origin, name), name);
  const known = new Set(description.hosts.map((host) => host.name));
  for (const host of Object.keys(rest.hosts)) {
    if (!known.has(host)) throw new Error(`${name}: hosts.${host}: the origin has no host of this name`);
  }
  return { ...rest, policy: policyOf(policy, `${name} (policy)`), origin: description };
}

function described(origin: unknown, name: string): ScenarioFile['origin'] {
  try {
    return parseDescription(origin);
  } catch (error) {
    throw new Error(`${name}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}

function originOf(origin: string | Record<string, unknown>, name: string): unknown {
  if (typeof origin !== 'string') return origin;
  const ready = SCENARIOS[origin];
  if (ready !== undefined) return ready.origin;
  const names = Object.keys(SCENARIOS).join(', ');
  throw new Error(`${name}: origin: there is no ready origin "${origin}"; there are ${names}`);
}

function policyOf(policy: Record<string, unknown>, name: string): PolicyFile {
  const parsed = parsePolicyFile(printYaml(policy), name);
  if (parsed.kind === 'ok') return parsed.file;
  throw new Error(parsed.problems.map(printProblem).join('\n'));
}

function faultsOf(error: z.ZodError): string {
  return error.issues.map((issue) => `${issue.path.join('.') || '(top)'}: ${issue.message}`).join('; ');
}
