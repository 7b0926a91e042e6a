/**
 * The environment that the services of a run inherit. The command line itself is configured by its flags, and by
 * `REDIS_URL` where `--redis` is not given; set but empty is not set.
 */
export const environment: NodeJS.ProcessEnv = process.env;
if (environment['REDIS_URL'] === '') delete environment['REDIS_URL'];
