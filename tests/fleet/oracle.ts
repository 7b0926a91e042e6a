import type { SeenRequest } from '@holdoff/sample-origin';
import type { BatchSnapshot, JobSnapshot } from '@holdoff/throttle-core';
import type { HostSample } from './host-watch.ts';

/**
 * What must hold under any fault, judged from the origin's log and from Redis. Each check names what it found wrong,
 * one line each; nothing found is an empty list.
 */
type Violations = readonly string[];

/** Requests that the fleet counts: robots.txt carries no job. */
export function pagesOf(log: readonly SeenRequest[]): readonly SeenRequest[] {
  return log.filter((request) => request.job !== null);
}

/** No admission inside a cooldown that Redis had before: by admission time, all on Redis' clock. */
export function admittedInCooldown(log: readonly SeenRequest[], samples: readonly HostSample[]): Violations {
  const found: string[] = [];
  for (const { host, path, admittedAtMs } of pagesOf(log)) {
    if (admittedAtMs === null) continue;
    const known = samples.find(
      (sample) => sample.host === host && sample.atMs < admittedAtMs && sample.cooldownUntilMs > admittedAtMs,
    );
    if (known !== undefined)
      found.push(
        `${host}${path} was admitted at ${admittedAtMs}, ${admittedAtMs - known.atMs} ms after a cooldown was seen that lasted ${known.cooldownUntilMs - admittedAtMs} ms longer`,
      );
  }
  return found;
}

/** A cooldown is only ever lengthened. */
export function cooldownMovedBack(samples: readonly HostSample[]): Violations {
  const latest = new Map<string, number>();
  const found: string[] = [];
  for (const { host, cooldownUntilMs, atMs } of samples) {
    const before = latest.get(host) ?? 0;
    if (cooldownUntilMs < before)
      found.push(`the cooldown of ${host} moved back by ${before - cooldownUntilMs} ms at ${atMs}`);
    latest.set(host, Math.max(before, cooldownUntilMs));
  }
  return found;
}

/** An attempt is one request: what was admitted once is sent once at most. Not for hosts that redirect. */
export function sentTwice(log: readonly SeenRequest[]): Violations {
  const seen = new Set<string>();
  const found: string[] = [];
  for (const { job, attempt, path } of pagesOf(log)) {
    const one = `${job}.${attempt}`;
    if (seen.has(one)) found.push(`attempt ${attempt} of ${path} was sent again`);
    seen.add(one);
  }
  return found;
}

/** In flight at once, as the origin saw it. `frozen`: holders that may have outlived their lease. */
export function overCap(log: readonly SeenRequest[], cap: number, frozen = 0): Violations {
  return log
    .filter((request) => request.inFlight > cap + frozen)
    .map(
      ({ host, path, inFlight, receivedAtMs }) =>
        `${host}${path} was number ${inFlight} of ${cap} at ${receivedAtMs}`,
    );
}

/** The batch pays for each re-send, and the ledgers of its jobs add up to its own. */
export function overspent(
  log: readonly SeenRequest[],
  jobs: readonly JobSnapshot[],
  batch: BatchSnapshot,
  tokensMost = batch.tokens?.total ?? Number.POSITIVE_INFINITY,
): Violations {
  const found: string[] = [];
  const own = new Set<string | null>(jobs.map(({ job }) => job));
  const sent = pagesOf(log).filter(({ job }) => own.has(job)).length;
  const attempts = jobs.reduce((sum, { facts }) => sum + facts.attempts, 0);
  const resends = jobs.reduce((sum, { facts }) => sum + Math.max(0, facts.attempts - 1), 0);
  const spent = batch.tokens?.spent ?? resends;
  if (sent > batch.attempts) found.push(`${sent} requests for ${batch.attempts} attempts`);
  if (batch.attempts !== attempts)
    found.push(`the batch counts ${batch.attempts} attempts, its jobs ${attempts}`);
  if (spent !== resends)
    found.push(`${spent} tokens were spent on ${resends} attempts that were not the first`);
  if (batch.attempts > batch.jobs.total + tokensMost)
    found.push(`${batch.attempts} attempts of ${batch.jobs.total} jobs with ${tokensMost} tokens`);
  return found;
}

/** Attempts of one job stay below its limit, over all restarts, and are numbered without gaps in Redis. */
export function tooManyAttempts(log: readonly SeenRequest[], attemptsMost: number): Violations {
  return pagesOf(log)
    .filter(({ attempt }) => (attempt ?? 0) > attemptsMost)
    .map(({ path, attempt }) => `attempt ${attempt} of ${path}`);
}

/** Every enqueued job has ended, and the batch has counted each once. */
export function notEndedOnce(
  ids: readonly string[],
  jobs: readonly JobSnapshot[],
  batch: BatchSnapshot,
  resultIds: readonly string[],
): Violations {
  const found: string[] = [];
  const ended = new Set<string>(jobs.filter((job) => job.ended !== null).map(({ job }) => job));
  const told = new Set(resultIds);
  for (const id of ids) {
    if (!ended.has(id)) found.push(`${id} has not ended`);
    if (!told.has(id)) found.push(`${id} has no result`);
  }
  const { done, stopped, total } = batch.jobs;
  if (total !== ids.length || done + stopped !== ids.length)
    found.push(`the batch counts ${total} jobs, ${done} done and ${stopped} stopped, of ${ids.length}`);
  return found;
}

export function secretsIn(texts: Readonly<Record<string, string>>, secrets: readonly string[]): Violations {
  return Object.entries(texts).flatMap(([where, text]) =>
    secrets.filter((secret) => text.includes(secret)).map((secret) => `${secret} is in ${where}`),
  );
}
