import { afterAll, beforeAll, expect, test } from 'vitest';
import { ComposeProject, eventually } from './compose-project.ts';

/**
 * The compose fleet as a user has it: built from the Dockerfile, started by compose, fed with redis-cli, judged by the
 * origin's own statistics, the results volume, Prometheus and Redis.
 */
const PROMETHEUS_PORT = 19_090 + (process.pid % 500);
const DELAYED = '{holdoff}:urls:delayed';

let fleet: ComposeProject;

beforeAll(async () => {
  fleet = await ComposeProject.open({
    name: `holdoff-test-${process.pid}`,
    files: ['docker-compose.yml', 'deploy/compose.demo.yml'],
    environment: {
      PROMETHEUS_PORT: String(PROMETHEUS_PORT),
      DEMO_SUBNET: `10.213.${process.pid % 250}.0/24`,
    },
  });
  await fleet.compose('up', '--build', '--no-start');
  await ownAsPublished('prometheus-data', 'prom/prometheus:latest', '65534:65534');
  await fleet.compose('up', '-d', '--scale', 'worker=1');
  await healthy('worker', 1);
  await healthy('scheduler', 1);
});

afterAll(async () => {
  await fleet.remove();
});

/** The published images own their data folder; an image that was made otherwise may leave a new volume to root. */
async function ownAsPublished(volume: string, image: string, owner: string): Promise<void> {
  const mount = `${fleet.volume(volume)}:/data`;
  await fleet.docker(
    'run',
    '--rm',
    '--user',
    '0',
    '-v',
    mount,
    '--entrypoint',
    'chown',
    image,
    owner,
    '/data',
  );
}

async function healthy(service: string, count: number): Promise<readonly string[]> {
  const states = await eventually(
    `${count} healthy containers of ${service}`,
    async () => {
      const ids = await fleet.containers(service);
      return Promise.all(
        ids.map(async (id) => ({
          id,
          state: await fleet.inspect<{ Status: string; Health?: { Status: string } }>(id, '.State'),
        })),
      );
    },
    (found) => found.length === count && found.every(({ state }) => state.Health?.Status === 'healthy'),
    240_000,
  ).catch(async (error: unknown) => {
    throw new Error(`${String(error)}\n${await fleet.logs()}`);
  });
  return states.map(({ id }) => id);
}

/** The same for many: one entry after the other through one `redis-cli`. */
async function enqueueAll(urls: readonly string[], batch: string, more = ''): Promise<void> {
  const replies = await fleet.redisCommands(
    urls.map((url) => `XADD holdoff:inbox * url ${url} batch ${batch} ${more}`),
  );
  expect(replies.filter((reply) => !/^\d+-\d+$/.test(reply))).toEqual([]);
  expect(replies).toHaveLength(urls.length);
}

const enqueue = (url: string, ...fields: readonly string[]): Promise<string> =>
  fleet.redisCli('XADD', 'holdoff:inbox', '*', 'url', url, ...fields);

interface Ended {
  readonly url: string;
  readonly batch: string;
  readonly outcome: string;
  readonly status: number;
  readonly attempts: number;
}

/** What lies in the results volume, read by a container that is not part of the fleet. */
async function results(batch: string): Promise<readonly Ended[]> {
  const mount = `${fleet.volume('results')}:/results:ro`;
  const script = "try{process.stdout.write(require('fs').readFileSync('/results/results.jsonl'))}catch{}";
  const container = ['run', '--rm', '--network', 'none', '-v', mount, 'holdoff-worker'];
  const text = await fleet.docker(...container, 'node', '-e', script);
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Ended)
    .filter((ended) => ended.batch === batch);
}

const ended = (batch: string, count: number): Promise<readonly Ended[]> =>
  eventually(
    `${count} results of ${batch}`,
    () => results(batch),
    (found) => found.length >= count,
    240_000,
  ).catch(async (error: unknown) => {
    throw new Error(`${String(error)}\n${await fleet.logs()}`);
  });

interface Target {
  readonly health: string;
  readonly scrapeUrl: string;
  readonly labels: { readonly job: string };
}

async function targets(job: string): Promise<readonly string[]> {
  const answer = await fetch(`http://127.0.0.1:${PROMETHEUS_PORT}/api/v1/targets?state=active`).catch(
    () => undefined,
  );
  if (!answer?.ok) return [];
  const { data } = (await answer.json()) as { data: { activeTargets: readonly Target[] } };
  return data.activeTargets
    .filter((target) => target.labels.job === job && target.health === 'up')
    .map((target) => target.scrapeUrl);
}

test('a URL that is added with redis-cli ends in the results volume', async () => {
  await enqueue('http://free-1.demo/page/1', 'batch', 'first');
  const [one, ...more] = await ended('first', 1);
  expect(one).toMatchObject({ url: 'http://free-1.demo/page/1', outcome: 'done', status: 200, attempts: 1 });
  expect(more).toEqual([]);
});

test('a refused entry lies in the rejected stream, and names what is wrong', async () => {
  await enqueue('ftp://free-1.demo/', 'batch', 'bad');
  const rejected = await eventually(
    'a rejected entry',
    () => fleet.redisCli('XRANGE', 'holdoff:rejected', '-', '+'),
    (text) => text.includes('ftp://'),
    90_000,
  );
  expect(rejected).toContain('url');
});

test('the first process of a container is an init, and what it runs is node without a shell', async () => {
  for (const service of ['worker', 'scheduler']) {
    for (const id of await fleet.containers(service)) {
      const commands = await fleet.node(
        id,
        `import { readdirSync, readFileSync } from 'node:fs';
         const pids = readdirSync('/proc').filter((name) => /^[0-9]+$/.test(name) && Number(name) < process.pid);
         console.log(JSON.stringify(pids.map((pid) => readFileSync('/proc/' + pid + '/cmdline', 'utf8').split('\\0')[0])));`,
      );
      const [first, ...rest] = JSON.parse(commands) as readonly string[];
      expect(first).toMatch(/(docker-init|tini)$/);
      expect(rest).toContain('node');
      expect(rest.filter((command) => /(^|\/)(ba|da)?sh$|npm|pnpm/.test(command))).toEqual([]);
    }
  }
});

test('a container can neither write to itself nor become root', async () => {
  const [id = ''] = await fleet.containers('worker');
  const answer = await fleet.node(
    id,
    `import { writeFileSync, readFileSync } from 'node:fs';
     const attempt = (path) => { try { writeFileSync(path, ''); return 'written'; } catch (error) { return error.code; } };
     const status = readFileSync('/proc/self/status', 'utf8');
     console.log(JSON.stringify({
       app: attempt('/app/x'), etc: attempt('/etc/x'), tmp: attempt('/tmp/x'), uid: process.getuid(),
       capabilities: /CapEff:\\s*(\\w+)/.exec(status)[1], noNewPrivileges: /NoNewPrivs:\\s*(\\d)/.exec(status)[1],
     }));`,
  );
  expect(JSON.parse(answer)).toEqual({
    app: 'EROFS',
    etc: 'EROFS',
    tmp: 'written',
    uid: 1_000,
    capabilities: '0000000000000000',
    noNewPrivileges: '1',
  });
});

test('scaled to 4 workers, all run and Prometheus sees 4 of them', async () => {
  await fleet.compose('up', '-d', '--scale', 'worker=4', '--no-recreate');
  await healthy('worker', 4);
  const seen = await eventually(
    '4 worker targets',
    () => targets('worker'),
    (found) => found.length === 4,
    180_000,
  );
  expect(new Set(seen).size).toBe(4);
  expect(await targets('scheduler')).toHaveLength(1);
});

test('4 workers share 120 URLs of a slow and a free host, and none asks the slow one inside a cooldown', async () => {
  const urls = Array.from(
    { length: 120 },
    (_, n) => `http://${n % 2 === 0 ? 'slow' : 'free-2'}.demo/page/${n}`,
  );
  await enqueueAll(urls, 'shared');
  const found = await ended('shared', urls.length);
  expect(new Set(found.map(({ url }) => url))).toEqual(new Set(urls));
  expect(found.filter(({ outcome }) => outcome !== 'done')).toEqual([]);
  expect(found).toHaveLength(urls.length);
  const seen = await originStats();
  expect(seen.get('slow.demo')?.served).toBe(60);
  expect(seen.get('slow.demo')?.inCooldown.afterNotice).toBe(0);
});

interface HostStats {
  readonly host: string;
  readonly served: number;
  readonly inCooldown: { readonly afterNotice: number };
}

/** What the origin itself has seen. Its statistics are on its own loopback interface. */
async function originStats(): Promise<ReadonlyMap<string, HostStats>> {
  const [id = ''] = await fleet.containers('origin');
  const text = await fleet.node(
    id,
    "process.stdout.write(await (await fetch('http://127.0.0.1:9090/stats')).text());",
  );
  const { hosts } = JSON.parse(text) as { hosts: readonly HostStats[] };
  return new Map(hosts.map((host) => [host.host, host]));
}

test('scaled down to 2 in the middle of work, no URL is lost and none is fetched twice', async () => {
  const urls = Array.from({ length: 60 }, (_, n) => `http://slow.demo/down/${n}`);
  await enqueueAll(urls, 'down');
  await fleet.compose('up', '-d', '--scale', 'worker=2', '--no-recreate');
  const found = await ended('down', urls.length);
  expect(found.map(({ url }) => url).toSorted()).toEqual(urls.toSorted());
  expect(await fleet.containers('worker')).toHaveLength(2);
});

test('what is delayed outlives a kill -9 of the store', async () => {
  const later = Array.from({ length: 100 }, (_, n) => `http://free-3.demo/later/${n}`);
  await enqueueAll(later, 'later', 'not_before +1h');
  const delayed = (): Promise<number> => fleet.redisCli('ZCARD', DELAYED).then(Number, () => -1);
  await eventually('100 delayed jobs', delayed, (count) => count === 100, 90_000);
  // `appendfsync everysec`: what was accepted more than a second ago (two, with a slow disk) is on it.
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  const [store = ''] = await fleet.containers('valkey');
  await fleet.docker('kill', '--signal', 'KILL', store);
  await fleet.docker('start', store);
  expect(await eventually('the store after its restart', delayed, (count) => count >= 0, 180_000)).toBe(100);

  // And the fleet finds its way back to it by itself.
  await enqueue('http://free-4.demo/after', 'batch', 'after');
  await ended('after', 1);
});

test('docker compose stop ends the workers in order: exit 0, never 137, with requests in flight', async () => {
  const urls = Array.from({ length: 40 }, (_, n) => `http://slow.demo/stop/${n}`);
  await enqueueAll(urls, 'stop');
  await eventually(
    'a first result',
    () => results('stop'),
    (found) => found.length > 0,
    90_000,
  );
  const workers = await fleet.containers('worker');
  await fleet.compose('stop', 'worker');
  const codes = await Promise.all(workers.map((id) => fleet.inspect<number>(id, '.State.ExitCode')));
  expect(codes).toEqual(workers.map(() => 0));

  await fleet.compose('start', 'worker');
  const found = await ended('stop', 40);
  expect(new Set(found.map(({ url }) => url)).size).toBe(40);
  expect(found).toHaveLength(40);
});

test('the scheduler and the store end in order as well', async () => {
  await fleet.compose('stop', 'scheduler', 'valkey');
  for (const service of ['scheduler', 'valkey']) {
    for (const id of await fleet.containers(service)) {
      expect([service, await fleet.inspect<number>(id, '.State.ExitCode')]).toEqual([service, 0]);
    }
  }
});
