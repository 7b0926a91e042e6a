import { readFile } from 'node:fs/promises';
import type { ProxyPool } from '@holdoff/url-job';
import { z } from 'zod';
import { openProxy, type Proxy } from './proxy-settings.ts';

const proxySchema = z.strictObject({
  name: z.string(),
  url: z.string(),
  credentials: z
    .union([z.strictObject({ file: z.string() }), z.strictObject({ variable: z.string() })])
    .nullable()
    .default(null),
  resolve: z.enum(['here', 'proxy']).default('here'),
  plainHttp: z.enum(['tunnel', 'forward']).default('tunnel'),
  connectMs: z.number().int().min(100).max(120_000).default(10_000),
});

const schema = z.record(
  z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/u),
  z.strictObject({
    sticky: z.enum(['host', 'job', 'none']).default('none'),
    proxies: z.array(proxySchema).min(1).max(1_000),
  }),
);

export interface ProxyPools {
  readonly proxies: readonly Proxy[];
  /** By the name that the policy uses. */
  readonly pools: ReadonlyMap<string, ProxyPool>;
}

const NO_PROXIES: ProxyPools = { proxies: [], pools: new Map() };

/**
 * The proxies of this deployment: JSON, `{"residential": {"sticky": "job", "proxies": [{"name": "p1", "url":
 * "http://proxy.example:8080", "credentials": {"file": "/run/secrets/p1"}}]}}`. Credentials are read here, once.
 *
 * @throws Error naming file and place, never a URL or a secret.
 */
export async function readProxyPools(
  path: string,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<ProxyPools> {
  if (path === '') return NO_PROXIES;
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new Error(`PROXIES_FILE ${path} cannot be read: ${error.code ?? 'unknown'}`);
  });
  const given = parse(path, text);
  const proxies: Proxy[] = [];
  const pools = new Map<string, ProxyPool>();
  for (const [name, pool] of Object.entries(given)) {
    for (const settings of pool.proxies) {
      if (proxies.some((known) => known.name === settings.name)) {
        throw new Error(
          `PROXIES_FILE ${path}: two proxies are named ${JSON.stringify(settings.name.slice(0, 40))}`,
        );
      }
      proxies.push(await openProxy(settings, environment));
    }
    pools.set(name, { sticky: pool.sticky, proxies: pool.proxies.map((proxy) => proxy.name) });
  }
  return { proxies, pools };
}

function parse(path: string, text: string): z.infer<typeof schema> {
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch {
    throw new Error(`PROXIES_FILE ${path} is not JSON`);
  }
  const parsed = schema.safeParse(data);
  if (parsed.success) return parsed.data;
  const places = parsed.error.issues.map((issue) => issue.path.join('.') || 'the file');
  throw new Error(`PROXIES_FILE ${path}: ${[...new Set(places)].join(', ')} is not as it must be`);
}
