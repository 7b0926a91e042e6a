import { readFile } from 'node:fs/promises';

/** One proxy as the operator writes it. Holds no secret: credentials are named, not written. */
export interface ProxySettings {
  /** `[a-z0-9][a-z0-9-]{0,31}`; the proxy's name in logs, metrics and the gate. */
  readonly name: string;
  /** `http://host:port`, `https://host:port` or `socks5://host:port`. */
  readonly url: string;
  readonly credentials: CredentialsRef | null;
  /**
   * Who resolves host names. here (default): we do, check all addresses, and hand the proxy a checked one.
   * proxy: the proxy does; then only literal addresses and ports are checked by us, and the proxy must refuse inner
   * networks itself.
   */
  readonly resolve: 'here' | 'proxy';
  /**
   * How plain http goes. tunnel (default): through CONNECT, like https. forward: the proxy is asked for the URL itself,
   * for proxies that open no tunnel to port 80; they must resolve names (`resolve: proxy`), and see the pages.
   */
  readonly plainHttp?: 'tunnel' | 'forward';
  /** Longest time for reaching the proxy and opening a tunnel, ms; the attempt's budget may end sooner. */
  readonly connectMs?: number;
}

const CONNECT_MS = 10_000;

/** Where `user:password` stands. `{session}` in the user is replaced by the session's name, a digest. */
type CredentialsRef = { readonly file: string } | { readonly variable: string };

/** A proxy ready for use. Never logged: `credentials` are secret. */
export interface Proxy {
  readonly name: string;
  readonly kind: 'http' | 'socks5';
  /** TLS to the proxy itself. */
  readonly secure: boolean;
  readonly host: string;
  readonly port: number;
  readonly resolve: 'here' | 'proxy';
  readonly plainHttp: 'tunnel' | 'forward';
  readonly credentials: Credentials | null;
  readonly connectMs: number;
}

export interface Credentials {
  readonly user: string;
  readonly password: string;
}

const NAME = /^[a-z0-9][a-z0-9-]{0,31}$/u;
/** Length of a session's name. */
export const SESSION_CHARACTERS = 12;
const SECRET_BYTES_MAX = 1_024;
/** RFC 1929 §2 has one byte for the length of each. */
const SOCKS_PART_BYTES_MAX = 255;

/**
 * Reads one proxy and its credentials. Throws with the proxy's name and the rule, never with the URL or the
 * secret: such a message goes straight into a log.
 */
export async function openProxy(
  settings: ProxySettings,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<Proxy> {
  const { name } = settings;
  if (!NAME.test(name))
    throw new Error(`proxy name ${JSON.stringify(name.slice(0, 40))} must match ${NAME.source}`);
  const url = URL.parse(settings.url);
  const scheme = url === null ? undefined : SCHEMES.get(url.protocol);
  if (url === null || scheme === undefined) {
    throw new Error(`proxy ${name}: url must be http://, https:// or socks5:// with a host and a port`);
  }
  if (url.username !== '' || url.password !== '') {
    throw new Error(
      `proxy ${name}: credentials are given by reference (a file or a variable), not in the url`,
    );
  }
  const plainHttp = settings.plainHttp ?? 'tunnel';
  if (plainHttp === 'forward' && (scheme.kind !== 'http' || settings.resolve !== 'proxy')) {
    throw new Error(`proxy ${name}: plainHttp forward needs an http or https proxy and resolve proxy`);
  }
  const port = Number(url.port === '' ? scheme.port : url.port);
  if (url.hostname === '' || port < 1) throw new Error(`proxy ${name}: url must have a host and a port`);
  const credentials =
    settings.credentials === null ? null : await readCredentials(name, settings.credentials, environment);
  if (scheme.kind === 'socks5' && credentials !== null) checkSocksCredentials(name, credentials);
  return {
    name,
    kind: scheme.kind,
    secure: scheme.secure,
    host: url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname,
    port,
    resolve: settings.resolve,
    plainHttp,
    connectMs: settings.connectMs ?? CONNECT_MS,
    credentials,
  };
}

/** The session's name, which stands for `{session}`, is as long for every job. */
function checkSocksCredentials(name: string, { user, password }: Credentials): void {
  const longest = user.replaceAll('{session}', 's'.repeat(SESSION_CHARACTERS));
  for (const [part, text] of [
    ['user', longest],
    ['password', password],
  ] as const) {
    if (Buffer.byteLength(text) > SOCKS_PART_BYTES_MAX)
      throw new Error(
        `proxy ${name}: the ${part} must have at most ${SOCKS_PART_BYTES_MAX} bytes for socks5`,
      );
  }
}

const SCHEMES: ReadonlyMap<string, { kind: Proxy['kind']; secure: boolean; port: number }> = new Map([
  ['http:', { kind: 'http', secure: false, port: 80 }],
  ['https:', { kind: 'http', secure: true, port: 443 }],
  ['socks5:', { kind: 'socks5', secure: false, port: 1080 }],
  ['socks5h:', { kind: 'socks5', secure: false, port: 1080 }],
]);

async function readCredentials(
  name: string,
  ref: CredentialsRef,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<Credentials> {
  const where = 'file' in ref ? `file ${ref.file}` : `variable ${ref.variable}`;
  const text = 'file' in ref ? await readSecretFile(ref.file) : environment[ref.variable];
  const line = text?.replace(/\r?\n$/u, '');
  const colon = line?.indexOf(':') ?? -1;
  if (
    line === undefined ||
    colon < 1 ||
    Buffer.byteLength(line) > SECRET_BYTES_MAX ||
    /[\r\n\0]/u.test(line)
  ) {
    throw new Error(`proxy ${name}: ${where} must hold user:password on one line`);
  }
  return { user: line.slice(0, colon), password: line.slice(colon + 1) };
}

async function readSecretFile(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch(() => undefined);
}
