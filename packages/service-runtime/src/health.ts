/** Something the service cannot work without. Resolves to null when it is there, else to what is wrong. */
export interface ReadinessCheck {
  readonly name: string;
  readonly check: () => Promise<string | null> | string | null;
}

/** Work that must move on while the process lives; what is wrong, or null. */
export type Progress = () => string | null;

export interface HealthReport {
  readonly ok: boolean;
  readonly checks: Readonly<Record<string, string>>;
}

/** A check that hangs is a failed check: a frozen store must not freeze the probe as well. */
const CHECK_MS_MAX = 1_000;
const PROBLEM_CHARACTERS_MAX = 300;

/** Liveness: the loop answers, since this runs, and the work moves on. */
export function liveness(progress: Progress | undefined): HealthReport {
  let problem: string | null;
  try {
    problem = progress?.() ?? null;
  } catch (error) {
    problem = describe(error);
  }
  return { ok: problem === null, checks: { progress: problem?.slice(0, PROBLEM_CHARACTERS_MAX) ?? 'ok' } };
}

export async function readiness(
  checks: readonly ReadinessCheck[],
  checkMsMax = CHECK_MS_MAX,
): Promise<HealthReport> {
  const problems = await Promise.all(checks.map((check) => runCheck(check, checkMsMax)));
  const report: Record<string, string> = {};
  for (const [index, check] of checks.entries()) {
    report[check.name] = problems[index]?.slice(0, PROBLEM_CHARACTERS_MAX) ?? 'ok';
  }
  return { ok: problems.every((problem) => problem === null), checks: report };
}

async function runCheck(check: ReadinessCheck, checkMsMax: number): Promise<string | null> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve(`no answer within ${checkMsMax} ms`), checkMsMax);
  });
  try {
    return await Promise.race([Promise.resolve().then(() => check.check()), late]);
  } catch (error) {
    return describe(error);
  } finally {
    clearTimeout(timer);
  }
}

/** The class and code only: messages of clients can carry addresses and passwords. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return 'failed';
  const code: unknown = Reflect.get(error, 'code');
  return typeof code === 'string' ? `failed (${code})` : `failed (${error.name})`;
}
