/** What is needed of a client: any command, its reply as Redis gave it. */
export interface RedisCommands {
  call(command: string, ...args: string[]): Promise<unknown>;
}

export interface RedisReport {
  /** Why the server cannot be used; empty: it can. */
  readonly problems: readonly string[];
  /** What is unsafe or could not be found out, but does not stop anything. */
  readonly warnings: readonly string[];
  readonly server: string;
  /** Server clock minus ours, ms; positive: ours is behind. */
  readonly clockSkewMs: number;
}

export interface RedisRequirements {
  /** A larger difference of the clocks is a problem, ms. */
  readonly clockSkewMsMax: number;
  readonly wallClockMs: () => number;
}

const REDIS_MAJOR_MIN = 7;
const VALKEY_MAJOR_MIN = 8;

/**
 * Looks at a Redis or Valkey server before anything depends on it: version, a policy that evicts nothing (locks and
 * cooldowns carry expiries and would go first), an append-only file, a primary, and clocks that agree.
 *
 * Rejects only when the server cannot be reached.
 */
export async function inspectRedis(
  redis: RedisCommands,
  requirements: RedisRequirements,
): Promise<RedisReport> {
  const problems: string[] = [];
  const warnings: string[] = [];
  const info = parseInfo(await infoText(redis, warnings));
  const server = checkVersion(info, problems, warnings);
  await checkEviction(redis, info, problems, warnings);
  checkPersistence(info, warnings);
  if (info.get('role') === 'slave') problems.push('is a read-only replica; a primary is needed');
  if (info.get('loading') === '1') problems.push('is still loading its data');

  const clockSkewMs = await measureSkew(redis, requirements.wallClockMs);
  if (Math.abs(clockSkewMs) > requirements.clockSkewMsMax) {
    problems.push(
      `clocks differ by ${Math.round(clockSkewMs)} ms, more than ${requirements.clockSkewMsMax} ms; synchronise them`,
    );
  }
  return { problems, warnings, server, clockSkewMs };
}

async function infoText(redis: RedisCommands, warnings: string[]): Promise<string> {
  try {
    return String(await redis.call('INFO'));
  } catch (error) {
    if (!isRefusal(error)) throw error;
    warnings.push('INFO is not permitted: version and persistence were not checked');
    return '';
  }
}

function parseInfo(text: string): ReadonlyMap<string, string> {
  const fields = new Map<string, string>();
  for (const line of text.split(/\r?\n/)) {
    const colon = line.indexOf(':');
    if (colon > 0 && !line.startsWith('#')) fields.set(line.slice(0, colon), line.slice(colon + 1));
  }
  return fields;
}

function checkVersion(info: ReadonlyMap<string, string>, problems: string[], warnings: string[]): string {
  const valkey = info.get('valkey_version');
  const version = valkey ?? info.get('redis_version');
  if (version === undefined) {
    warnings.push('did not tell its version');
    return 'unknown';
  }
  const name = valkey === undefined ? 'Redis' : 'Valkey';
  const least = valkey === undefined ? REDIS_MAJOR_MIN : VALKEY_MAJOR_MIN;
  if (Number.parseInt(version, 10) < least)
    problems.push(`is ${name} ${version}; ${least} or later is needed`);
  return `${name} ${version}`;
}

async function checkEviction(
  redis: RedisCommands,
  info: ReadonlyMap<string, string>,
  problems: string[],
  warnings: string[],
): Promise<void> {
  const policy = info.get('maxmemory_policy') ?? (await configured(redis, 'maxmemory-policy'));
  if (policy === undefined) {
    warnings.push('did not tell its maxmemory-policy: make sure that it is noeviction');
  } else if (policy !== 'noeviction') {
    problems.push(`has maxmemory-policy ${policy}; noeviction is needed, or jobs and cooldowns vanish`);
  }
}

function checkPersistence(info: ReadonlyMap<string, string>, warnings: string[]): void {
  if (info.get('aof_enabled') === '0') {
    warnings.push(
      'has no append-only file: a restart of it forgets every job and cooldown (set appendonly yes)',
    );
  }
  if (info.get('aof_last_write_status') === 'err') warnings.push('cannot write its append-only file');
}

/** undefined: managed services forbid or hide CONFIG. */
async function configured(redis: RedisCommands, name: string): Promise<string | undefined> {
  try {
    const reply = await redis.call('CONFIG', 'GET', name);
    return Array.isArray(reply) && reply.length > 1 ? String(reply[1]) : undefined;
  } catch (error) {
    if (!isRefusal(error)) throw error;
    return undefined;
  }
}

/** An answer of the server that says no, as opposed to no answer. */
function isRefusal(error: unknown): boolean {
  return (
    error instanceof Error &&
    /^(?:NOPERM|ERR|NOAUTH|WRONGPASS)\b/.test(error.message) &&
    !/^(?:NOAUTH|WRONGPASS)/.test(error.message)
  );
}

/** Against the middle of the round trip; the shortest of three tells most. */
async function measureSkew(redis: RedisCommands, wallClockMs: () => number): Promise<number> {
  let best = { roundTripMs: Number.POSITIVE_INFINITY, skewMs: 0 };
  for (let tries = 0; tries < 3; tries += 1) {
    const askedMs = wallClockMs();
    const reply = await redis.call('TIME');
    const roundTripMs = wallClockMs() - askedMs;
    if (!Array.isArray(reply) || roundTripMs < 0) continue;
    const serverMs = Number(reply[0]) * 1_000 + Number(reply[1]) / 1_000;
    if (roundTripMs < best.roundTripMs) {
      best = { roundTripMs, skewMs: serverMs - (askedMs + roundTripMs / 2) };
    }
  }
  return best.skewMs;
}
