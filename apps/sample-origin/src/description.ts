import { z } from 'zod';

/**
 * What an origin looks like, as JSON, YAML or an object. Instants are ms since the start (or the last reset),
 * durations ms, rates requests per second. Everything has a bound, also here: a test origin that can be told
 * to fill the memory of its own machine is a bad neighbour.
 */

const durationMs = z.number().int().min(0).max(86_400_000);
const positiveMs = z.number().int().min(1).max(86_400_000);
const bytes = z
  .number()
  .int()
  .min(0)
  .max(4 * 1024 ** 3);
const share = z.number().min(0).max(1);
const count = z.number().int().min(1).max(1_000_000);
const headerName = z.string().regex(/^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,64}$/);
/** Node writes header values as latin1 and refuses control characters; refuse them here, where the line is known. */
const headerValue = z
  .string()
  .max(8_192)
  .regex(/^[\t\x20-\x7e\x80-\xff]*$/);

const changes = z
  .array(z.strictObject({ atMs: durationMs, factor: z.number().min(0.001).max(1_000) }))
  .max(1_000)
  .default([])
  .refine((list) => list.every((change, at) => at === 0 || change.atMs > (list[at - 1]?.atMs ?? 0)), {
    error: 'changes must be in order of atMs',
  });

const limiter = z
  .discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('none') }),
    z.strictObject({
      kind: z.literal('token_bucket'),
      perSecond: z.number().min(0.001).max(1_000_000),
      burst: count.default(1),
      changes,
    }),
    z.strictObject({ kind: z.literal('fixed_window'), limit: count, windowMs: positiveMs, changes }),
    z.strictObject({
      kind: z.literal('sliding_window'),
      limit: count,
      windowMs: positiveMs,
      countRejects: z.boolean().default(false),
      changes,
    }),
    z.strictObject({
      kind: z.literal('concurrency'),
      limit: count,
      waitMs: positiveMs.default(1_000),
      changes,
    }),
    z.strictObject({
      kind: z.literal('penalty'),
      perSecond: z.number().min(0.001).max(1_000_000),
      burst: count.default(1),
      penaltyMs: positiveMs,
      extendMs: durationMs.default(0),
      penaltyMostMs: positiveMs.default(3_600_000),
      changes,
    }),
  ])
  .refine((limiter) => limiter.kind !== 'penalty' || limiter.penaltyMostMs >= limiter.penaltyMs, {
    error: 'penaltyMostMs must be at least penaltyMs',
  })
  .refine((limiter) => limiter.kind !== 'sliding_window' || limiter.limit <= 100_000, {
    error: 'a sliding window remembers every request: limit is at most 100000',
  });
export type LimiterDescription = z.output<typeof limiter>;

/** How a refusal says when to come back. Without arguments the form's name is enough. */
const plainForm = z.enum([
  'seconds',
  'http_date',
  'float',
  'absent',
  'milliseconds',
  'epoch_seconds',
  'duplicate',
  'ratelimit',
  'ratelimit_reset',
  'x_ratelimit_reset_epoch',
  'x_ratelimit_reset_epoch_ms',
]);
const retryAfter = z.union([
  plainForm.transform((form) => ({ form })),
  z.strictObject({ form: plainForm }),
  z.strictObject({
    form: z.literal('fixed'),
    seconds: z
      .number()
      .int()
      .min(0)
      .max(2 ** 31),
  }),
  z.strictObject({ form: z.literal('garbage'), value: headerValue.default('soon') }),
]);
export type RetryAfterForm = z.output<typeof retryAfter>;

const latency = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('none') }),
  z.strictObject({ kind: z.literal('fixed'), ms: durationMs }),
  z
    .strictObject({ kind: z.literal('uniform'), minMs: durationMs, maxMs: durationMs })
    .refine((range) => range.maxMs >= range.minMs, { error: 'maxMs must be at least minMs' }),
  z.strictObject({
    kind: z.literal('load'),
    baseMs: durationMs,
    /** Added for every other request in flight. */
    perInFlightMs: durationMs,
    maxMs: durationMs.default(60_000),
  }),
]);
export type LatencyDescription = z.output<typeof latency>;

const encoding = z.enum(['gzip', 'deflate', 'br', 'zstd']);
const answer = z.discriminatedUnion('kind', [
  z.strictObject({
    kind: z.literal('page'),
    status: z.number().int().min(200).max(599).default(200),
    bytes: bytes.max(16 * 1024 ** 2).default(1_024),
    body: z.string().max(1_000_000).optional(),
    contentType: headerValue.default('text/html; charset=utf-8'),
    /** Sends an ETag and answers 304 to a matching If-None-Match. */
    etag: z.boolean().default(false),
    cookies: z.array(headerValue).max(100).default([]),
    headers: z.record(headerName, headerValue).default({}),
    encoding: encoding.optional(),
    /** Begins with the path and query, so that no two URLs have the same body; not with an encoding or an ETag. */
    distinct: z.boolean().default(false),
  }),
  z.strictObject({
    kind: z.literal('status'),
    status: z.number().int().min(400).max(599),
    /** Sent as Retry-After, and kept as a published cooldown of the host. */
    retryAfterSeconds: z
      .number()
      .int()
      .min(0)
      .max(2 ** 31)
      .optional(),
    headers: z.record(headerName, headerValue).default({}),
  }),
  z.strictObject({ kind: z.literal('challenge') }),
  z.strictObject({ kind: z.literal('reset') }),
  z.strictObject({ kind: z.literal('never') }),
  z.strictObject({
    kind: z.literal('slow_headers'),
    everyMs: positiveMs.default(500),
    lines: count.default(100),
  }),
  z.strictObject({
    kind: z.literal('informational'),
    everyMs: durationMs.default(0),
    count: count.default(1_000),
  }),
  z.strictObject({
    kind: z.literal('slow_body'),
    everyMs: positiveMs.default(500),
    chunkBytes: bytes.min(1).max(1_000_000).default(1),
    totalBytes: bytes.min(1).default(1_000),
  }),
  /** Chunked and without an end; closed by the origin after `bytesMost`. */
  z.strictObject({ kind: z.literal('endless_body'), bytesMost: bytes.min(1).default(1024 ** 3) }),
  /** Promises more than it sends, then closes; chunked: the closing chunk never comes. */
  z.strictObject({
    kind: z.literal('truncated_body'),
    bytes: bytes.max(1_000_000).default(1_000),
    framing: z.enum(['length', 'chunked']).default('length'),
  }),
  z.strictObject({ kind: z.literal('huge_body'), bytes: bytes.min(1).default(256 * 1024 ** 2) }),
  z.strictObject({
    kind: z.literal('huge_headers'),
    bytes: bytes
      .min(1)
      .max(1024 ** 2)
      .default(64 * 1024),
  }),
  /** Zeros, packed as small as the encoding packs them. */
  z.strictObject({
    kind: z.literal('bomb'),
    encoding,
    decodedBytes: bytes
      .min(1)
      .max(1024 ** 3)
      .default(100 * 1024 ** 2),
  }),
  z.strictObject({
    kind: z.literal('redirect'),
    status: z
      .union([z.literal(301), z.literal(302), z.literal(303), z.literal(307), z.literal(308)])
      .default(302),
    /** Redirects before the target. */
    hops: z.number().int().min(1).max(100).default(1),
    /** Name of the host that the last hop leads to; absent: this one. */
    toHost: z.string().optional(),
    /** Path at the target; absent: the same path below `/landed`. */
    toPath: z.string().startsWith('/').max(2_000).optional(),
    /** Never arrives: the last hop leads to the first. */
    loop: z.boolean().default(false),
    retryAfterSeconds: z
      .number()
      .int()
      .min(0)
      .max(2 ** 31)
      .optional(),
  }),
]);
export type AnswerDescription = z.output<typeof answer>;

/** The first rule that matches a request answers it; without one the host's page does. */
const rule = z.strictObject({
  /** The exact path, or a prefix when it ends in `*`; absent: every path. */
  path: z.string().startsWith('/').max(2_000).optional(),
  share: share.default(1),
  /** Only the first this many requests of each path; absent: all. */
  times: count.optional(),
  fromMs: durationMs.default(0),
  untilMs: durationMs.optional(),
  /** Answers without asking the limiter, as a broken front end would. */
  beforeLimiter: z.boolean().default(false),
  answer,
});
export type Rule = z.output<typeof rule>;
export type RuleInput = z.input<typeof rule>;
const rulesSchema = z.array(rule).max(1_000);

const host = z.strictObject({
  name: z.string().regex(/^[a-z0-9][a-z0-9.-]{0,252}$/),
  /** Makes this many alike: `name-1`, `name-2`, … each on an address of its own. */
  count: z.number().int().min(1).max(2_000).optional(),
  /** A loopback address; absent: the next free one. Hosts that share one are told apart by the Host header. */
  address: z
    .ipv4()
    .regex(/^127\./, { error: 'only loopback addresses (127.x.y.z)' })
    .optional(),
  limiter: limiter.default({ kind: 'none' }),
  refusal: z
    .strictObject({
      status: z.union([z.literal(429), z.literal(503), z.literal(403)]).default(429),
      retryAfter: retryAfter.default({ form: 'seconds' }),
    })
    .prefault({}),
  /** Rate headers on served answers too. */
  advertise: z.enum(['none', 'ratelimit', 'x_ratelimit']).default('none'),
  latency: latency.default({ kind: 'none' }),
  page: z.strictObject({ ...answer.options[0].shape, kind: z.literal('page').default('page') }).prefault({}),
  /** Body of /robots.txt; absent: 404. */
  robots: z.string().max(1_000_000).optional(),
  rules: rulesSchema.default([]),
  /** Added to the host's own clock, as seen in Date, HTTP-dates and epochs. */
  clockOffsetMs: z.number().int().min(-86_400_000).max(86_400_000).default(0),
  keepAlive: z
    .strictObject({
      idleMs: positiveMs.default(60_000),
      /** Says so in a Keep-Alive header; unannounced closing makes clients write into dead sockets. */
      announced: z.boolean().default(true),
      /** Closes the connection after this many requests; 0: never. */
      requestsMax: z.number().int().min(0).max(1_000_000).default(0),
    })
    .prefault({}),
});
export type HostDescription = z.output<typeof host>;

const schema = z.strictObject({
  /** Feeds every random draw: shares and latencies repeat from run to run. */
  seed: z
    .number()
    .int()
    .min(0)
    .max(2 ** 32 - 1)
    .default(1),
  /** 0: a free one. */
  port: z.number().int().min(0).max(65_535).default(0),
  /**
   * One address for all hosts, told apart by the Host header, in place of a loopback address each: `0.0.0.0` in a
   * container, where other containers reach it by the names of its hosts.
   */
  listen: z.ipv4().optional(),
  /** On 127.0.0.1; 0: a free one. */
  adminPort: z.number().int().min(0).max(65_535).default(0),
  log: z
    .strictObject({
      /** Newest requests kept in memory. */
      entriesMax: z.number().int().min(1).max(2_000_000).default(100_000),
      /** NDJSON, one line per finished request, appended. */
      file: z.string().min(1).optional(),
    })
    .prefault({}),
  /** After a cooldown was published this long passes before a request counts as sent in spite of it, ms. */
  noticeMs: durationMs.default(100),
  connectionsMax: z.number().int().min(1).max(100_000).default(20_000),
  hosts: z.array(host).min(1).max(2_000),
});
export type OriginDescription = z.output<typeof schema>;
export type OriginDescriptionInput = z.input<typeof schema>;
export type HostDescriptionInput = z.input<typeof host>;

/** Checks and completes a description. Throws one line that names the key, the value's fault and the rule. */
export function parseDescription(input: unknown): OriginDescription {
  const parsed = schema.safeParse(input);
  if (!parsed.success) throw new Error(`bad origin description: ${faultsOf(parsed.error)}`);
  const hosts = parsed.data.hosts.flatMap(repeated);
  const names = new Set<string>();
  for (const { name } of hosts) {
    if (names.has(name)) throw new Error(`bad origin description: two hosts are named ${name}`);
    names.add(name);
  }
  for (const host of hosts) checkTargets(host.rules, names, host.name);
  const placed = hosts.find((host) => host.address !== undefined);
  if (parsed.data.listen !== undefined && placed !== undefined) {
    throw new Error(
      `bad origin description: listen puts all hosts on one address, but ${placed.name} has its own`,
    );
  }
  return { ...parsed.data, hosts };
}

/** Rules given while the origin runs. */
export function parseRules(input: unknown, hostNames: ReadonlySet<string>): readonly Rule[] {
  const parsed = rulesSchema.safeParse(input);
  if (!parsed.success) throw new Error(`bad rules: ${faultsOf(parsed.error)}`);
  checkTargets(parsed.data, hostNames, 'rules');
  return parsed.data;
}

function faultsOf(error: z.ZodError): string {
  return error.issues.map((issue) => `${issue.path.join('.') || '(top)'}: ${issue.message}`).join('; ');
}

function repeated(host: HostDescription): HostDescription[] {
  const { count, ...one } = host;
  if (count === undefined) return [one];
  if (host.address !== undefined) {
    throw new Error(`bad origin description: host ${host.name} has a count and one address`);
  }
  return Array.from({ length: count }, (_, at) => ({ ...one, name: `${host.name}-${at + 1}` }));
}

function checkTargets(rules: readonly Rule[], names: ReadonlySet<string>, where: string): void {
  for (const { answer } of rules) {
    if (answer.kind === 'redirect' && answer.toHost !== undefined && !names.has(answer.toHost)) {
      throw new Error(`bad origin description: ${where} redirects to the unknown host ${answer.toHost}`);
    }
  }
}
