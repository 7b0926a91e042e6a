import { expect, test } from 'vitest';
import { queueNames } from './queue-names.ts';

test('the names that people type are those of the README', () => {
  expect(queueNames()).toEqual({
    prefix: '{holdoff}',
    queue: 'urls',
    inbox: 'holdoff:inbox',
    rejected: 'holdoff:rejected',
    stopped: '{holdoff}:stopped',
    inboxGroup: 'schedulers',
    dead: '{holdoff}:dead',
    schedules: 'schedules',
    scheduleRuns: '{holdoff}:schedule-runs',
    followed: '{holdoff}:followed:',
    proxyPools: '{holdoff}:proxy-pools',
  });
});

test.each(['', 'a}b', '{a}', 'A', 'a b', '-a', 'a'.repeat(33)])('%j is no deployment name', (name) => {
  expect(() => queueNames(name)).toThrow(RangeError);
});
