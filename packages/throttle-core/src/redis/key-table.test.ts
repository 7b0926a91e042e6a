import { readFileSync, readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { BatchId, HostKey, JobId } from '../core/identifiers.ts';
import { hostPart, keyNames } from './key-names.ts';

const DOCS = readFileSync(new URL('../../../../docs/redis-keys.md', import.meta.url), 'utf8');

interface Row {
  readonly key: string;
  readonly type: string;
  readonly writers: readonly string[];
}

const OF_THE_GATE = DOCS.split('\n## The gate\n')[1]?.split('\n## ')[0] ?? '';

const rows: Row[] = OF_THE_GATE.split('\n')
  .filter((line) => line.startsWith('| `{holdoff}'))
  .map((line) => {
    const [, key = '', type = '', writers = ''] = line.split(/(?<!\\)\|/).map((cell) => cell.trim());
    return { key: key.replaceAll('`', ''), type, writers: writers.split(', ') };
  });

/** Every key that the code can name, in the words of the table. The channel is no key. */
function namedKeys(): string[] {
  const names = keyNames('holdoff');
  const part = hostPart('HOST' as HostKey);
  return Object.entries(names).flatMap(([name, value]) => {
    if (name === 'prefix' || name.endsWith('Channel')) return [];
    if (typeof value === 'string') return [value];
    if (name === 'job' || name === 'trail') return [names[name]('JOB' as JobId)];
    if (name === 'batch') return [names.batch('BATCH' as BatchId)];
    return name === 'reply' ? [names.reply('NONCE')] : [(value as (of: typeof part) => string)(part)];
  });
}

describe('docs/redis-keys.md', () => {
  it('lists exactly the keys that key-names.ts makes', () => {
    expect(rows.map(({ key }) => key).toSorted()).toEqual(namedKeys().toSorted());
  });

  it('names only scripts that there are, and types of Redis', () => {
    const scripts = readdirSync(new URL('scripts/', import.meta.url))
      .filter((file) => file.endsWith('.lua'))
      .map((file) => file.slice(0, -4));
    for (const { writers, type } of rows) {
      expect(scripts).toEqual(expect.arrayContaining([...writers]));
      expect(['string', 'hash', 'list', 'zset', 'set', 'stream']).toContain(type);
    }
  });
});
