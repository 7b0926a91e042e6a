import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createFetchPage, type PageFetcher } from './create-fetch-page.ts';
import type { PageExchange } from './fetch-page.ts';
import type { HostileAnswer } from './testing/hostile/hostile-answer.ts';
import { HOSTILE_ANSWERS } from './testing/hostile/hostile-answers.ts';
import { memoryInUseMiB } from './testing/memory-in-use.ts';
import { LOOPBACK_OPEN, pageRequest } from './testing/page-request.ts';
import { type RawServer, rawServer } from './testing/raw-server.ts';

let fetcher: PageFetcher;
let server: RawServer;

beforeAll(async () => {
  fetcher = createFetchPage({ addresses: LOOPBACK_OPEN, userAgent: 'Holdoff/test' });
  server = await rawServer((socket, head) => {
    const index = Number(/^GET \/(\d+)/u.exec(head)?.[1]);
    HOSTILE_ANSWERS[index]?.say(socket);
  });
});
afterAll(async () => {
  fetcher.close();
  await server.close();
});

const SLOW_BUDGET_MS = 300;

/** Meets one and returns what came of it, in the shape the answer's own expectation has. */
async function meet(answer: HostileAnswer): Promise<PageExchange> {
  const budgetMs = answer.slow === true ? SLOW_BUDGET_MS : 5_000;
  const url = `${server.origin}/${HOSTILE_ANSWERS.indexOf(answer)}`;
  return fetcher.fetchPage(pageRequest(url, { budgetMs }));
}

async function until(condition: () => boolean): Promise<void> {
  const giveUpAt = performance.now() + 2_000;
  while (!condition() && performance.now() < giveUpAt)
    await new Promise((resolve) => setTimeout(resolve, 10));
}

describe('whatever a server does is a value, in time, and leaves no socket', () => {
  const quick = HOSTILE_ANSWERS.filter((answer) => answer.slow !== true);
  const slow = HOSTILE_ANSWERS.filter((answer) => answer.slow === true);

  test.each(quick.map((answer) => [answer.name, answer] as const))('%s', async (_, answer) => {
    const page = await meet(answer);
    expect(page).toMatchObject({ ...answer.exchange, outcome: answer.outcome });
    expect(page.outcome.detail).not.toBe('');
    expect(page.durationMs).toBeLessThan(5_000);
  });

  test.each(slow.map((answer) => [answer.name, answer] as const))(
    '%s, until the budget ends',
    async (_, answer) => {
      const page = await meet(answer);
      expect(page).toMatchObject({ ...answer.exchange, outcome: answer.outcome });
      expect(page.outcome.detail).toContain('attempt budget used up');
      expect(page.durationMs).toBeGreaterThan(SLOW_BUDGET_MS - 20);
      expect(page.durationMs).toBeLessThan(SLOW_BUDGET_MS + 2_000);
    },
  );

  test('no socket is left in use', async () => {
    // Idle sockets of answers that ended well may stay; none of them serves a request.
    await until(() => server.open() <= 8);
    expect(server.open()).toBeLessThanOrEqual(8);
  });
});

describe('200 hostile answers in a row', () => {
  test('leave memory, sockets and handles where they were', async () => {
    const quick = HOSTILE_ANSWERS.filter((answer) => answer.slow !== true);
    for (const answer of quick) await meet(answer);
    const before = { ...memoryInUseMiB(), handles: handles() };
    const rows = Array.from({ length: 200 }, (_, i) =>
      quick.slice(i % quick.length, (i % quick.length) + 1),
    ).flat();
    for (const answer of rows) {
      expect((await meet(answer)).outcome).toMatchObject(answer.outcome);
    }
    expect(rows).toHaveLength(200);
    await until(() => server.open() <= 8);
    const after = { ...memoryInUseMiB(), handles: handles() };
    console.log('before and after 200 hostile answers:', before, after, 'sockets:', server.open());
    expect(server.open()).toBeLessThanOrEqual(8);
    expect(after.handles).toBeLessThanOrEqual(before.handles + 8);
    expect(after.held - before.held).toBeLessThan(10);
    expect(after.rss - before.rss).toBeLessThan(60);
  }, 60_000);
});

function handles(): number {
  return process.getActiveResourcesInfo().filter((kind) => /TCP|TLS|Timeout|Zlib|Pipe/u.test(kind)).length;
}
