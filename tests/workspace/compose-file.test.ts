import { readFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';

interface Service {
  readonly [option: string]: unknown;
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly networks: readonly string[];
  readonly ports?: readonly string[];
  readonly tmpfs: readonly string[];
  readonly stop_grace_period: string;
}
interface ComposeFile {
  readonly services: Readonly<Record<string, Service>>;
  readonly networks: Readonly<Record<string, { readonly internal?: boolean }>>;
  readonly volumes: Readonly<Record<string, unknown>>;
}

const read = async (name: string): Promise<ComposeFile> =>
  parse(await readFile(new URL(`../../${name}`, import.meta.url), 'utf8'), { merge: true }) as ComposeFile;
const compose = await read('docker-compose.yml');
const service = (name: string): Service => {
  const found = compose.services[name];
  if (found === undefined) throw new Error(`no service ${name}`);
  return found;
};

const megabytes = (text: string | undefined): number => Number(/:-(\d+)mb?\}/.exec(text ?? '')?.[1]);

describe.each(Object.keys(compose.services))('%s is locked down', (name) => {
  const options = service(name);
  test.each<[string, unknown]>([
    ['read_only', true],
    ['init', true],
    ['cap_drop', ['ALL']],
    ['security_opt', ['no-new-privileges:true']],
    ['restart', 'unless-stopped'],
  ])('%s', (option, value) => {
    expect(options[option]).toEqual(value);
  });

  test('it runs as somebody other than root', () => {
    expect(options['user']).toMatch(/^(node|[1-9]\d*:[1-9]\d*)$/);
  });

  test('its memory, processes and open files are bounded', () => {
    expect(options['mem_limit']).toMatch(/^(\$\{\w+:-)?\d+m\}?$/);
    expect(options['pids_limit']).toBeGreaterThan(0);
    expect(options['pids_limit']).toBeLessThanOrEqual(256);
    expect(options['ulimits']).toEqual({ nofile: { soft: 16_384, hard: 16_384 } });
  });

  test('what it may write outside its volumes is small, in memory and not executable', () => {
    for (const mount of options.tmpfs) expect(mount).toMatch(/^\/tmp:rw,noexec,nosuid,nodev,size=\d+m,/);
  });

  test('its logs cannot fill the disk', () => {
    expect(options['logging']).toMatchObject({ options: { 'max-size': '10m', 'max-file': '5' } });
  });

  test('it asks for no privilege back', () => {
    for (const option of ['privileged', 'cap_add', 'network_mode', 'pid', 'ipc', 'devices', 'userns_mode']) {
      expect(options).not.toHaveProperty(option);
    }
    expect(JSON.stringify(options)).not.toContain('docker.sock');
  });

  test('a port is published on the loopback interface only', () => {
    for (const port of options.ports ?? []) expect(port).toMatch(/^127\.0\.0\.1:/);
  });
});

describe('networks', () => {
  test('the store is on an internal network and on no other', () => {
    expect(compose.networks['store']?.internal).toBe(true);
    expect(service('valkey').networks).toEqual(['store']);
    expect(service('valkey').ports).toBeUndefined();
  });

  test('only workers have a way out, and they are not where something is published', () => {
    const onEgress = Object.keys(compose.services).filter((name) =>
      service(name).networks.includes('egress'),
    );
    expect(onEgress).toEqual(['worker']);
    expect(service('worker').networks).not.toContain('front');
  });

  test('Prometheus reaches the services and not the store', () => {
    expect(compose.networks['metrics']?.internal).toBe(true);
    expect(service('prometheus').networks).not.toContain('store');
    for (const name of ['worker', 'scheduler', 'prometheus'])
      expect(service(name).networks).toContain('metrics');
  });
});

describe('the worker can be scaled', () => {
  test('it has no host port and no fixed name', () => {
    expect(service('worker').ports).toBeUndefined();
    expect(service('worker')).not.toHaveProperty('container_name');
    expect(service('worker')).not.toHaveProperty('hostname');
  });

  test('the engine waits longer than the worker drains', () => {
    const graceMs = Number.parseInt(service('worker').stop_grace_period, 10) * 1_000;
    const drainMs = Number(service('worker').environment?.['SHUTDOWN_GRACE_MS']);
    expect(service('worker').stop_grace_period).toMatch(/^\d+s$/);
    expect(drainMs).toBeGreaterThan(0);
    expect(graceMs).toBeGreaterThan(2 * drainMs);
  });
});

describe('the store loses nothing', () => {
  const command = service('valkey').command ?? [];
  const setting = (name: string): string | undefined => command[command.indexOf(`--${name}`) + 1];

  test.each([
    ['appendonly', 'yes'],
    ['appendfsync', 'everysec'],
    ['maxmemory-policy', 'noeviction'],
    ['hz', '100'],
    ['dir', '/data'],
  ])('%s is %s', (name, value) => {
    expect(command).toContain(`--${name}`);
    expect(setting(name)).toBe(value);
  });

  test('its data lies in a named volume', () => {
    expect(service('valkey')['volumes']).toEqual(['valkey-data:/data']);
    expect(compose.volumes).toHaveProperty('valkey-data');
  });

  test('it refuses writes before the container runs out of memory, with room for the rewrite of its log', () => {
    expect(megabytes(String(service('valkey')['mem_limit']))).toBeGreaterThanOrEqual(
      1.5 * megabytes(setting('maxmemory')),
    );
  });

  test('its health is asked without a shell, and loading is not healthy', () => {
    expect(service('valkey')['healthcheck']).toMatchObject({ test: ['CMD', 'valkey-cli', '-e', 'ping'] });
  });

  test('services start when it answers', () => {
    for (const name of ['worker', 'scheduler']) {
      expect(service(name)['depends_on']).toEqual({ valkey: { condition: 'service_healthy' } });
    }
  });
});

describe('the images', () => {
  test('each service with a build has its target in the Dockerfile, in exec form', async () => {
    const dockerfile = await readFile(new URL('../../Dockerfile', import.meta.url), 'utf8');
    for (const [name, { build }] of Object.entries(compose.services)) {
      if (build === undefined) continue;
      expect(build).toEqual({ context: '.', target: name });
      expect(dockerfile).toMatch(new RegExp(`^FROM service AS ${name}$`, 'm'));
    }
    expect(
      [...dockerfile.matchAll(/^\s*(?:CMD|ENTRYPOINT) (.*)$/gm)].every(([, form]) => form?.startsWith('[')),
    ).toBe(true);
    expect(dockerfile).toMatch(/^USER node$/m);
  });

  test("the Dockerfile's pnpm is the one that package.json pins", async () => {
    const dockerfile = await readFile(new URL('../../Dockerfile', import.meta.url), 'utf8');
    const manifest = await readFile(new URL('../../package.json', import.meta.url), 'utf8');
    const pinned = /"packageManager": "pnpm@([\d.]+)"/.exec(manifest)?.[1];
    expect(pinned).toBeDefined();
    expect(dockerfile).toContain(`ARG PNPM_VERSION=${pinned}\n`);
  });
});

test('the override publishes Valkey on the loopback interface only', async () => {
  const override = await read('deploy/compose.publish-valkey.yml');
  expect(Object.keys(override.services)).toEqual(['valkey']);
  for (const port of override.services['valkey']?.ports ?? []) expect(port).toMatch(/^127\.0\.0\.1:/);
});
