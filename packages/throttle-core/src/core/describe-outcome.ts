import type { AnswerSign } from './answer-outcomes.ts';
import type { FaultPhase, FaultRow } from './fault-outcomes.ts';

/** "429 Too Many Requests", and what made it more than its status says. */
export function describeStatus(status: number, sign: AnswerSign | null): string {
  const phrase = PHRASES[status];
  const text = phrase === undefined ? String(status) : `${status} ${phrase}`;
  switch (sign) {
    case 'proxy_answered':
      return `the proxy answered ${text}`;
    case 'challenge':
      return `${text}, a challenge page`;
    case 'rate_limited':
      return `${text}, a rate limit by its signs`;
    case 'usable_wait':
    case null:
      return text;
  }
}

/** "connection reset (ECONNRESET) while reading the answer". The code is data from outside: only its safe characters are kept. */
export function describeFault(
  { code, phase }: { readonly code: string; readonly phase: FaultPhase },
  row: FaultRow,
): string {
  const safeCode = /^[A-Za-z][A-Za-z0-9_]{0,63}$/u.test(code) ? code : 'unknown code';
  const what = Object.hasOwn(SENTENCES, code) ? SENTENCES[code] : row.when;
  return `${what} (${safeCode}) ${PHASES[phase]}`;
}

const PHASES: Readonly<Record<FaultPhase, string>> = {
  queue: 'before a socket was free',
  dns: 'while resolving the name',
  connect: 'while connecting',
  proxy: 'while the proxy connected',
  tls: 'during the TLS handshake',
  headers: 'while waiting for the answer',
  body: 'while reading the answer',
};

const SENTENCES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  ECONNABORTED: 'connection aborted',
  EPIPE: 'connection closed early',
  EHOSTUNREACH: 'host not reachable',
  EHOSTDOWN: 'host down',
  ETIMEDOUT: 'timed out',
  ATTEMPT_BUDGET: 'attempt budget used up',
  ENOTFOUND: 'host name has no address',
  EAI_AGAIN: 'host name not resolved',
  EMFILE: 'no file descriptor left on this machine',
  ENOSPC: 'no space left on this machine',
};

/** RFC 9110 section 15, RFC 6585, and the codes of services that many sites stand behind. */
const PHRASES: Readonly<Record<number, string>> = {
  200: 'OK',
  201: 'Created',
  202: 'Accepted',
  203: 'Non-Authoritative Information',
  204: 'No Content',
  205: 'Reset Content',
  206: 'Partial Content',
  300: 'Multiple Choices',
  301: 'Moved Permanently',
  302: 'Found',
  303: 'See Other',
  304: 'Not Modified',
  307: 'Temporary Redirect',
  308: 'Permanent Redirect',
  400: 'Bad Request',
  401: 'Unauthorized',
  402: 'Payment Required',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  406: 'Not Acceptable',
  407: 'Proxy Authentication Required',
  408: 'Request Timeout',
  409: 'Conflict',
  410: 'Gone',
  413: 'Content Too Large',
  414: 'URI Too Long',
  415: 'Unsupported Media Type',
  416: 'Range Not Satisfiable',
  418: "I'm a Teapot",
  421: 'Misdirected Request',
  422: 'Unprocessable Content',
  425: 'Too Early',
  426: 'Upgrade Required',
  429: 'Too Many Requests',
  431: 'Request Header Fields Too Large',
  451: 'Unavailable For Legal Reasons',
  500: 'Internal Server Error',
  501: 'Not Implemented',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
  504: 'Gateway Timeout',
  505: 'HTTP Version Not Supported',
  507: 'Insufficient Storage',
  508: 'Loop Detected',
  511: 'Network Authentication Required',
  520: 'Web Server Returned an Unknown Error',
  521: 'Web Server Is Down',
  522: 'Connection Timed Out',
  523: 'Origin Is Unreachable',
  524: 'A Timeout Occurred',
  529: 'Site Is Overloaded',
};
