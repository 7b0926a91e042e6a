/** The environment that the services of a run inherit. The command line itself is configured by its flags only. */
export const environment: NodeJS.ProcessEnv = process.env;
