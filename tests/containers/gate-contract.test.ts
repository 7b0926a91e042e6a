import { once } from 'node:events';
import { createServer } from 'node:net';
import { Cluster, Redis } from 'ioredis';
import { GenericContainer, type StartedTestContainer, Wait } from 'testcontainers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createRedisGate } from '@holdoff/throttle-core/redis';
import { describeGateContract } from '../../packages/throttle-core/src/testing/contract/gate-contract.ts';

/**
 * The gate's contract against the servers that people run. The one suite decides: what holds in memory and on a local
 * Redis has to hold on Valkey 8, on Redis 8, and on a cluster, where a script may only touch keys of one slot.
 */
const READY = /Ready to accept connections/;
let count = 0;
/** A deployment of its own for each test: its keys meet no other's. On a cluster they spread over the nodes. */
function deployment(): string {
  count += 1;
  return `t${count}`;
}

describe.each([
  ['Valkey 8', 'valkey/valkey:8-alpine', 'valkey-server', /^valkey 8\./],
  ['Redis 8', 'redis:8-alpine', 'redis-server', /^redis 8\./],
])('%s', (name, image, binary, expected) => {
  let container: StartedTestContainer;
  let redis: Redis;

  beforeAll(async () => {
    container = await new GenericContainer(image)
      .withExposedPorts(6379)
      .withCommand([binary, '--protected-mode', 'no', '--save', ''])
      .withWaitStrategy(Wait.forLogMessage(READY))
      .start();
    redis = new Redis(container.getMappedPort(6379), container.getHost());
  });
  afterAll(async () => {
    redis.disconnect();
    await container.stop();
  });

  test('it is the server that it is said to be', async () => {
    const info = await redis.info('server');
    const version = (field: string): string | undefined =>
      new RegExp(`^${field}:(\\S+)`, 'm').exec(info)?.[1];
    const valkey = version('valkey_version');
    expect(valkey === undefined ? `redis ${version('redis_version')}` : `valkey ${valkey}`).toMatch(expected);
  });

  describeGateContract(`the gate on ${name}`, (clock) =>
    createRedisGate({ redis, deployment: deployment(), clock: clock.now }),
  );
});

describe('a cluster of 3 Valkey nodes', () => {
  let nodes: readonly StartedTestContainer[] = [];
  let cluster: Cluster;

  beforeAll(async () => {
    // Nodes tell clients each other's addresses, so they share the machine's network under ports of their own.
    const ports = await Promise.all([freePort(), freePort(), freePort()]);
    const buses = await Promise.all([freePort(), freePort(), freePort()]);
    nodes = await Promise.all(ports.map((port, at) => startNode(port, buses[at] ?? 0)));
    const addresses = ports.map((port) => `127.0.0.1:${port}`);
    const made = await nodes[0]?.exec(['valkey-cli', '--cluster', 'create', ...addresses, '--cluster-yes']);
    if (made?.exitCode !== 0) throw new Error(`no cluster: ${made?.output}`);
    cluster = new Cluster(ports.map((port) => ({ host: '127.0.0.1', port })));
    if (cluster.status !== 'ready') await once(cluster, 'ready');
  });
  afterAll(async () => {
    cluster.disconnect();
    await Promise.all(nodes.map((node) => node.stop()));
  });

  test('it has three masters, and the deployments of this file lie on all of them', async () => {
    expect(cluster.nodes('master')).toHaveLength(3);
    const slots = (await cluster.cluster('SLOTS')) as readonly (readonly [number, number, ...unknown[]])[];
    expect(slots).toHaveLength(3);
    const owners = new Set<number>();
    for (let n = count + 1; n <= count + 50; n += 1) {
      const slot = await cluster.cluster('KEYSLOT', `{t${n}}`);
      owners.add(slots.findIndex(([from, to]) => slot >= from && slot <= to));
    }
    expect(owners).toEqual(new Set([0, 1, 2]));
  });

  describeGateContract('the gate on a cluster', (clock) =>
    createRedisGate({ redis: cluster, deployment: deployment(), clock: clock.now }),
  );
});

function startNode(port: number, bus: number): Promise<StartedTestContainer> {
  const listen = ['--port', String(port), '--cluster-port', String(bus), '--bind', '127.0.0.1'];
  const command = ['valkey-server', ...listen, '--cluster-enabled', 'yes', '--save', ''];
  return new GenericContainer('valkey/valkey:8-alpine')
    .withNetworkMode('host')
    .withCommand(command)
    .withWaitStrategy(Wait.forLogMessage(READY))
    .start();
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address !== null ? address.port : 0;
}
