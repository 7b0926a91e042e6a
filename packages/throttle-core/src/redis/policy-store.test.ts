import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { type LocalRedis, startLocalRedis } from '@holdoff/service-runtime';
import type { Redis } from 'ioredis';
import { parsePolicyFile, type PolicyFile } from '../policy-file/parse-policy-file.ts';
import { resolvePolicy } from '../policy-file/resolve-policy.ts';
import { connectGate, gateReady } from './connection.ts';
import { followPolicy, type FollowPolicyOptions, type PolicyFollower } from './follow-policy.ts';
import { keyNames } from './key-names.ts';
import { publishPolicy, readStoredPolicy } from './policy-store.ts';

let server: LocalRedis;
let redis: Redis;
let runs = 0;
let tag = '';
const followers: PolicyFollower[] = [];

beforeAll(async () => {
  server = await startLocalRedis({ searchPath: process.env['PATH'] ?? '', persistent: false });
  redis = connectGate({ url: server.url, commandDeadlineMs: 2000 });
  redis.on('error', () => undefined);
  await gateReady(redis, 5000);
});
afterAll(async () => {
  redis.disconnect();
  await server.stop();
});
beforeEach(() => {
  runs += 1;
  tag = `policy-test-${runs}`;
});
afterEach(async () => {
  await Promise.all(followers.splice(0).map((follower) => follower.close()));
});

function fileOf(text: string): PolicyFile {
  const parsed = parsePolicyFile(text, 'fallback');
  if (parsed.kind === 'invalid') throw new Error('bad test policy');
  return parsed.file;
}

function publish(text: string) {
  return publishPolicy(redis, { text, name: 'p.yaml', by: 'tests', tag });
}

async function follow(options: Partial<FollowPolicyOptions> = {}) {
  const onChange = vi.fn<FollowPolicyOptions['onChange']>();
  const onRefused = vi.fn<FollowPolicyOptions['onRefused']>();
  const onUnavailable = vi.fn<FollowPolicyOptions['onUnavailable']>();
  const follower = await followPolicy(redis, {
    tag,
    fallback: fileOf('concurrency: 1'),
    checkEveryMs: 60_000,
    onChange,
    onRefused,
    onUnavailable,
    ...options,
  });
  followers.push(follower);
  return { follower, onChange, onRefused, onUnavailable };
}

function concurrencyOf(follower: PolicyFollower): number {
  return resolvePolicy(follower.current().file, 'a.test').policy.concurrency;
}

describe('publishing', () => {
  test('versions grow with each new text, and the text in force keeps its own', async () => {
    expect(await publish('concurrency: 2')).toEqual({ kind: 'published', version: 1 });
    expect(await publish('concurrency: 2')).toEqual({ kind: 'unchanged', version: 1 });
    expect(await publish('concurrency: 3')).toEqual({ kind: 'published', version: 2 });
    expect(await publish('concurrency: 2')).toEqual({ kind: 'published', version: 3 });
    expect(await readStoredPolicy(redis, tag)).toMatchObject({
      version: 3,
      text: 'concurrency: 2',
      name: 'p.yaml',
      publishedBy: 'tests',
      contentHash: fileOf('concurrency: 2').contentHash,
    });
  });

  test('a bad text is refused with its problems, and the version in force stays', async () => {
    await publish('concurrency: 2');
    const reply = await publish('concurrency: 0\nx: 1');
    expect(reply.kind === 'refused' ? reply.problems.map(({ key }) => key) : reply).toEqual([
      'concurrency',
      'x',
    ]);
    expect(await readStoredPolicy(redis, tag)).toMatchObject({ version: 1, text: 'concurrency: 2' });
  });

  test('many publishers of one text make one version', async () => {
    const replies = await Promise.all(Array.from({ length: 20 }, () => publish('concurrency: 5')));
    expect(replies.filter(({ kind }) => kind === 'published')).toHaveLength(1);
    expect(new Set(replies.map((reply) => (reply.kind === 'refused' ? 0 : reply.version)))).toEqual(
      new Set([1]),
    );
  });

  test('nothing is stored until something was published', async () => {
    expect(await readStoredPolicy(redis, tag)).toBeUndefined();
  });
});

describe('following', () => {
  test('the fallback is in force until a first version is published', async () => {
    const { follower, onChange } = await follow();
    expect([follower.current().version, concurrencyOf(follower)]).toEqual([0, 1]);
    expect(onChange).not.toHaveBeenCalled();
  });

  test('the version in force is loaded before the follower is handed out', async () => {
    await publish('concurrency: 2');
    const { follower } = await follow();
    expect([follower.current().version, concurrencyOf(follower)]).toEqual([1, 2]);
  });

  test('a new version is followed on its hint, long before the next look', async () => {
    const { follower, onChange } = await follow();
    await publish('concurrency: 7');
    await vi.waitFor(() => expect(concurrencyOf(follower)).toBe(7), { timeout: 5000, interval: 10 });
    expect(onChange).toHaveBeenCalledWith(follower.current());
  });

  test('a version whose hint was lost is found by looking', async () => {
    const { follower } = await follow({ checkEveryMs: 30 });
    await redis.hset(keyNames(tag).policy, storedAs(1, 'concurrency: 8'));
    await vi.waitFor(() => expect(concurrencyOf(follower)).toBe(8), { timeout: 5000, interval: 10 });
  });

  test('a stored version that cannot be read is refused once, and the old one stays', async () => {
    await publish('concurrency: 2');
    const { follower, onRefused } = await follow();
    await redis.hset(keyNames(tag).policy, storedAs(2, 'concurrency: many'));
    await follower.check();
    await follower.check();
    expect([follower.current().version, concurrencyOf(follower)]).toEqual([1, 2]);
    expect(onRefused).toHaveBeenCalledTimes(1);
    expect(onRefused.mock.calls[0]?.[0]).toMatchObject({ version: 2, problems: [{ key: 'concurrency' }] });
    await publish('concurrency: 4');
    await follower.check();
    expect([follower.current().version, concurrencyOf(follower)]).toEqual([3, 4]);
  });

  test('a text that is not the published one is refused', async () => {
    const { follower, onRefused } = await follow();
    await redis.hset(keyNames(tag).policy, { ...storedAs(1, 'concurrency: 2'), text: 'concurrency: 900' });
    await follower.check();
    expect(concurrencyOf(follower)).toBe(1);
    expect(onRefused.mock.calls[0]?.[0]).toEqual({ version: 1, problems: [] });
  });

  test('after the store was emptied a lower version with another text is in force', async () => {
    await publish('concurrency: 2');
    await publish('concurrency: 3');
    const { follower } = await follow();
    await redis.del(keyNames(tag).policy);
    await follower.check();
    expect(concurrencyOf(follower)).toBe(3);
    await publish('concurrency: 4');
    await follower.check();
    expect([follower.current().version, concurrencyOf(follower)]).toEqual([1, 4]);
  });

  test('while Redis is away the policy stays and nothing is thrown; afterwards changes are followed again', async () => {
    await publish('concurrency: 2');
    const { follower, onUnavailable } = await follow({ checkEveryMs: 50 });
    await server.kill();
    await vi.waitFor(() => expect(onUnavailable).toHaveBeenCalled(), { timeout: 5000, interval: 20 });
    expect(onUnavailable.mock.calls[0]?.[0]).toMatchObject({ code: 'GATE_UNAVAILABLE' });
    expect(concurrencyOf(follower)).toBe(2);
    await server.restart();
    await gateReady(redis, 10_000);
    await publish('concurrency: 6');
    await vi.waitFor(() => expect(concurrencyOf(follower)).toBe(6), { timeout: 5000, interval: 20 });
  });

  test('a closed follower hears nothing more and leaves no connection', async () => {
    const { follower, onChange } = await follow({ checkEveryMs: 20 });
    await vi.waitFor(async () => {
      expect(await redis.pubsub('NUMSUB', keyNames(tag).policyChannel)).toContain(1);
    });
    const checking = follower.check();
    await publish('concurrency: 8');
    await follower.close();
    await checking;
    const heard = onChange.mock.calls.length;
    await publish('concurrency: 9');
    await follower.check();
    await vi.waitFor(async () => {
      expect(await redis.pubsub('NUMSUB', keyNames(tag).policyChannel)).toContain(0);
    });
    expect(onChange).toHaveBeenCalledTimes(heard);
  });
});

function storedAs(version: number, text: string): Record<string, string> {
  const hashed = parsePolicyFile(text, 'p.yaml');
  const hash = hashed.kind === 'ok' ? hashed.file.contentHash : 'unreadable';
  return { version: String(version), hash, text, name: 'p.yaml', at: '0', by: 'tests' };
}
