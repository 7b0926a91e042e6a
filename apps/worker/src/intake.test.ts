import { silentLogger } from '@holdoff/service-runtime';
import { expect, test } from 'vitest';
import { Intake } from './intake.ts';

function sample(fails: { next: boolean } = { next: false }) {
  const done: string[] = [];
  const change = (what: string) => async (): Promise<void> => {
    if (fails.next) {
      fails.next = false;
      throw new Error('Redis is away');
    }
    done.push(`${what} begins`);
    await Promise.resolve();
    done.push(`${what} ends`);
  };
  const intake = new Intake({ pause: change('pause'), resume: change('resume') }, silentLogger);
  const settled = async (): Promise<readonly string[]> => {
    await new Promise((resolve) => setImmediate(resolve));
    return done;
  };
  return { intake, settled };
}

test('several causes pause once, and the last one to end resumes', async () => {
  const { intake, settled } = sample();
  intake.pause('clock', 'off by an hour');
  intake.pause('redis', 'evicts');
  intake.pause('redis', 'evicts still');
  expect(intake.causes).toEqual(['off by an hour', 'evicts still']);
  intake.resume('clock');
  expect(await settled()).toEqual(['pause begins', 'pause ends']);
  intake.resume('redis');
  intake.resume('redis');
  expect(await settled()).toEqual(['pause begins', 'pause ends', 'resume begins', 'resume ends']);
});

test('changes never overlap, and one that was taken back in time is not made', async () => {
  const { intake, settled } = sample();
  intake.pause('clock', 'off');
  await Promise.resolve();
  await Promise.resolve();
  intake.resume('clock');
  intake.pause('clock', 'off');
  intake.resume('clock');
  expect(await settled()).toEqual(['pause begins', 'pause ends', 'resume begins', 'resume ends']);
});

test('a change that fails is tried again with the next one', async () => {
  const fails = { next: true };
  const { intake, settled } = sample(fails);
  intake.pause('clock', 'off');
  expect(await settled()).toEqual([]);
  intake.pause('redis', 'evicts');
  expect(await settled()).toEqual(['pause begins', 'pause ends']);
});
