import type { FaultPhase } from '@holdoff/throttle-core';
import { AddressNotAllowedError } from '../guard/checked-addresses.ts';
import { ResolveError } from '../guard/resolver.ts';
import { FaultError, type FetchFault } from './fetch-fault.ts';

/** Errors wrap each other (got, AggregateError of several addresses); deeper than this is not looked at. */
const CAUSES_MAX = 8;

/** Names an error of the HTTP client, the socket, TLS or our own guards. Takes codes only, never message texts. */
export function faultFromError(error: unknown, phase: FaultPhase): FetchFault {
  const chain = causes(error);
  for (const cause of chain) {
    if (cause instanceof FaultError) return cause.fault;
    if (cause instanceof AddressNotAllowedError) {
      return { kind: 'refused', stop: 'address_not_allowed', detail: cause.message };
    }
    if (cause instanceof ResolveError) {
      return { kind: 'dns', exists: cause.kind === 'not_found' ? 'no' : 'unknown', code: cause.code };
    }
  }
  const code =
    chain.map(codeOf).find((candidate) => candidate !== undefined && candidate !== GOT_ANY) ?? 'UNKNOWN';
  if (code === 'HPE_HEADER_OVERFLOW') return { kind: 'too_large', limit: 'headers' };
  if (code === 'ENOTFOUND') return { kind: 'dns', exists: 'no', code };
  if (code === 'EAI_AGAIN') return { kind: 'dns', exists: 'unknown', code };
  if (isTlsIdentity(code)) return { kind: 'tls_identity', code };
  if (REFUSED_BY_CLIENT.has(code)) return { kind: 'refused', stop: 'invalid_url', detail: code };
  return { kind: 'transport', phase, code };
}

const GOT_ANY = 'ERR_GOT_REQUEST_ERROR';

const REFUSED_BY_CLIENT: ReadonlySet<string> = new Set([
  'ERR_INVALID_URL',
  'ERR_UNSUPPORTED_PROTOCOL',
  'ERR_INVALID_CHAR',
  'ERR_INVALID_HTTP_TOKEN',
  'ERR_UNESCAPED_CHARACTERS',
]);

/** OpenSSL's verification results as Node names them: the peer is not who the URL says, or nobody vouches for it. */
function isTlsIdentity(code: string): boolean {
  return (
    code === 'ERR_TLS_CERT_ALTNAME_INVALID' ||
    code === 'DEPTH_ZERO_SELF_SIGNED_CERT' ||
    code === 'SELF_SIGNED_CERT_IN_CHAIN' ||
    code === 'HOSTNAME_MISMATCH' ||
    code === 'INVALID_CA' ||
    code === 'INVALID_PURPOSE' ||
    code === 'PATH_LENGTH_EXCEEDED' ||
    code.startsWith('UNABLE_TO_') ||
    code.startsWith('CERT_') ||
    code.startsWith('CRL_') ||
    code.startsWith('ERROR_IN_CERT_') ||
    code.startsWith('ERROR_IN_CRL_')
  );
}

function codeOf(error: unknown): string | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && /^[A-Z][A-Z0-9_]{1,63}$/u.test(code) ? code : undefined;
}

function causes(error: unknown): readonly unknown[] {
  const chain: unknown[] = [];
  const queue: unknown[] = [error];
  for (let next = queue.shift(); next !== undefined && chain.length < CAUSES_MAX; next = queue.shift()) {
    chain.push(next);
    if (next instanceof AggregateError) queue.push(...(next.errors as readonly unknown[]));
    if (next instanceof Error && next.cause !== undefined) queue.push(next.cause);
  }
  return chain;
}
