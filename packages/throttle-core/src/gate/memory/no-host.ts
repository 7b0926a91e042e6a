import type { HostKey } from '../../core/identifiers.ts';

/** The host of a job that was refused before its host was known. No host name is a lone hyphen. */
export const NO_HOST = '-' as HostKey;
