import { readFile } from 'node:fs/promises';
import { beforeAll, expect, test } from 'vitest';
import { BAD_CONTENT_RULES, SIZE_LIMITS } from './fetch/fetch-fault.ts';
import { INTERIM_MAX } from './fetch/send-request.ts';
import { stopOfRule, URL_BYTES_MAX, URL_RULES } from './guard/check-url.ts';
import { DEFAULT_POOL } from './guard/pool-limits.ts';
import { productTokenOf } from './robots/product-token.ts';
import { readConfig } from './config.ts';
import { SENT_TO_ANY_ORIGIN } from './redirect/hop-headers.ts';
import { ROBOTS_DEFAULTS } from './robots/robots-book.ts';
import { ROBOTS_HOPS_MAX } from './robots/robots-record.ts';
import { ROBOTS_BYTES_MAX } from './robots/robots-rules.ts';

let doc: string;
beforeAll(async () => {
  doc = await readFile(new URL('../../../docs/fetching.md', import.meta.url), 'utf8');
});

/** First two cells of the table rows that begin with code, by each name in the first cell. */
function rows(): ReadonlyMap<string, string> {
  const found = [...doc.matchAll(/^\|\s+(`[^|]+?`)\s+\|\s+`([a-z_]+)`\s+\|/gmu)];
  return new Map(
    found.flatMap(([, names, reason]) =>
      [...(names ?? '').matchAll(/`([a-z_]+)`/gu)].map(([, name]) => [name ?? '', reason ?? ''] as const),
    ),
  );
}

test('every refusal is in a table with its stop reason, and no other is', () => {
  const expected = new Map<string, string>([
    ...URL_RULES.map((rule) => [rule, stopOfRule(rule)] as const),
    ...SIZE_LIMITS.map((limit) => [limit, 'too_large'] as const),
    ...BAD_CONTENT_RULES.map((rule) => [rule, 'bad_content'] as const),
  ]);
  expect(Object.fromEntries(rows())).toEqual(Object.fromEntries(expected));
});

test('figures are those of the code', () => {
  for (const fact of [
    `${URL_BYTES_MAX} bytes`,
    `${INTERIM_MAX} interim answers`,
    `for ${DEFAULT_POOL.idleMs / 1_000} s, at most ${DEFAULT_POOL.idlePerOriginMax} idle per origin and ${DEFAULT_POOL.idleMax} in all`,
    `kept for ${ROBOTS_DEFAULTS.keepMs / 3_600_000} h`,
    `${ROBOTS_BYTES_MAX / 1_024} KiB of it read`,
    `${ROBOTS_HOPS_MAX} redirects followed`,
    `nothing is allowed for ${ROBOTS_DEFAULTS.retryMs / 60_000} min`,
    `(\`${productTokenOf(readConfig({}).USER_AGENT)}\`;`,
  ]) {
    expect(doc.replaceAll(/\s+/gu, ' ')).toContain(fact);
  }
  for (const header of SENT_TO_ANY_ORIGIN) expect(doc).toContain(`\`${header}\``);
});
