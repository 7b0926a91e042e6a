import { Registry } from 'prom-client';
import { INBOX_FIELDS } from '@holdoff/url-job';
import { expect, test } from 'vitest';
import { tableUnderHeading } from '@holdoff/throttle-core/testing';
import { SchedulerMetrics } from './scheduler-metrics.ts';

test('docs/metrics.md lists each metric of the scheduler as it is', async () => {
  const registry = new Registry();
  const metrics = new SchedulerMetrics(registry);
  metrics.accepted(1);
  const registered = await registry.getMetricsAsJSON();
  expect(tableUnderHeading('metrics.md', 'Scheduler')).toEqual(
    registered.map(({ name, type, help }) => [`\`${name}\``, type, help]),
  );
});

test('docs/inbox.md lists each field of an entry', async () => {
  const rows = tableUnderHeading('inbox.md', 'Fields');
  expect(rows.map(([name]) => name)).toEqual(INBOX_FIELDS.map((field) => `\`${field}\``));
});

test('what producers send never becomes a label', async () => {
  const registry = new Registry();
  const metrics = new SchedulerMetrics(registry);
  for (let index = 0; index < 1_000; index += 1) metrics.rejected(`field-${index}`);
  const text = await registry.metrics();
  expect(text).toContain('holdoff_inbox_rejected_total{field="unknown_field"} 1000');
  expect(text.split('\n').length).toBeLessThan(60);
});
