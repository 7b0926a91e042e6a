import { expect, test } from 'vitest';
import { tableUnderHeading } from '@holdoff/throttle-core/testing';
import { readConfig, schedulerConfigSchema } from './config.ts';

test('an empty environment gives the defaults, frozen; empty values count as absent', () => {
  const config = readConfig({ REDIS_URL: '', UNRELATED: 'x' });
  expect(config).toMatchObject({ REDIS_URL: 'redis://127.0.0.1:6379', INBOX_BATCH: 500, METRICS_PORT: 9464 });
  expect(Object.isFrozen(config)).toBe(true);
});

test.each([
  ['REDIS_URL', 'http://u:CANARY@x/'],
  ['REDIS_URL', 'CANARY'],
  ['HOLDOFF_DEPLOYMENT', '{CANARY}'],
  ['INBOX_BATCH', 'many'],
  ['INBOX_BATCH', '0'],
  ['INBOX_BATCH', '501'],
  ['INBOX_BATCH', '1.5'],
  ['METRICS_PORT', '65536'],
  ['MEMORY_SHARE_MAX', '2'],
  ['LOG_LEVEL', 'loud'],
])('%s=%s is refused by name, without the value', (name, value) => {
  const read = (): unknown => readConfig({ [name]: value });
  expect(read).toThrow(`bad configuration: ${name}`);
  expect(read).not.toThrow('CANARY');
});

test('docs/configuration.md lists each setting with its meaning and default', async () => {
  const fields = Object.entries(schedulerConfigSchema.shape).map(([name, field]) => {
    const value = name === 'SCHEDULER_ID' ? 'host name and process id' : String(field.parse(undefined));
    const shown = name === 'SCHEDULER_ID' ? value : value === '' ? 'none' : `\`${value}\``;
    return [`\`${name}\``, field.description, shown];
  });
  expect(tableUnderHeading('configuration.md', 'Scheduler')).toEqual(fields);
});
