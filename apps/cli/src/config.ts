/**
 * The environment that the services of a run inherit. The command line itself is configured by its flags, and by
 * `REDIS_URL` where `--redis` is not given; set but empty is not set.
 */
export const environment: NodeJS.ProcessEnv = process.env;
if (environment['REDIS_URL'] === '') delete environment['REDIS_URL'];

/** Whom this command runs for, and ends with: set by the bootstrap, and not handed on. null: nobody. */
export const endsWithPid: number | null = Number(environment['HOLDOFF_ENDS_WITH']) || null;
delete environment['HOLDOFF_ENDS_WITH'];
