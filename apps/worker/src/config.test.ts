import { expect, test } from 'vitest';
import { tableUnderHeading } from '@holdoff/throttle-core/testing';
import { readConfig, workerConfigSchema } from './config.ts';

test('an empty environment gives the defaults, frozen; empty values count as absent', () => {
  const config = readConfig({ REDIS_URL: '', UNRELATED: 'x' });
  expect(config).toMatchObject({
    REDIS_URL: 'redis://127.0.0.1:6379',
    SINKS: 'folder',
    WORKER_CONCURRENCY: 50,
  });
  expect(Object.isFrozen(config)).toBe(true);
});

test.each([
  ['REDIS_URL', 'http://u:CANARY@x/'],
  ['HOLDOFF_DEPLOYMENT', '{CANARY}'],
  ['WORKER_CONCURRENCY', '0'],
  ['SINKS', 'folder,CANARY'],
  ['SINKS', 'folder,'],
  ['STREAM_LENGTH_MAX', '0'],
  ['RESULT_BODY_BYTES_MAX', '-1'],
  ['WEBHOOK_TIMEOUT_MS', 'soon'],
])('%s=%s is refused by name, without the value', (name, value) => {
  const read = (): unknown => readConfig({ [name]: value });
  expect(read).toThrow(`bad configuration: ${name}`);
  expect(read).not.toThrow('CANARY');
});

const WORDS: Readonly<Record<string, string>> = { WORKER_ID: 'host name and process id' };

test('docs/configuration.md lists each setting with its meaning and default', async () => {
  const fields = Object.entries(workerConfigSchema.shape).map(([name, field]) => {
    const value = String(field.parse(undefined));
    return [`\`${name}\``, field.description, WORDS[name] ?? (value === '' ? 'none' : `\`${value}\``)];
  });
  expect(tableUnderHeading('configuration.md', 'Worker')).toEqual(fields);
});
