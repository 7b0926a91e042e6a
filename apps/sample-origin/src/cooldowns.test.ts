import { expect, test } from 'vitest';
import { Cooldowns } from './cooldowns.ts';

test('a cooldown covers from its publication up to, not including, its end', () => {
  const cooldowns = new Cooldowns();
  cooldowns.publish(100, 200);
  expect([99, 100, 150, 199, 200].map((at) => cooldowns.ageAt(at))).toEqual([null, 0, 50, 99, null]);
});

test('a request admitted before a longer cooldown was published is inside the older one only while that lasts', () => {
  const cooldowns = new Cooldowns();
  cooldowns.publish(100, 200);
  cooldowns.publish(150, 400);
  expect(cooldowns.ageAt(160)).toBe(60);
  expect(cooldowns.ageAt(250)).toBe(100);
});

test('a milder answer changes nothing', () => {
  const cooldowns = new Cooldowns();
  cooldowns.publish(100, 1_000);
  cooldowns.publish(200, 300);
  cooldowns.publish(210, 210);
  expect([250, 350, 999].map((at) => cooldowns.ageAt(at))).toEqual([150, 250, 899]);
});

test('a gap between two cooldowns is free', () => {
  const cooldowns = new Cooldowns();
  cooldowns.publish(100, 200);
  cooldowns.publish(300, 400);
  expect([150, 200, 299, 300, 400].map((at) => cooldowns.ageAt(at))).toEqual([50, null, null, 0, null]);
});

test('a flood of extended penalties answers right and stays small', () => {
  const cooldowns = new Cooldowns();
  const startedAt = performance.now();
  for (let at = 0; at < 200_000; at += 1) cooldowns.publish(at, at + 30_000 + at);
  expect(performance.now() - startedAt).toBeLessThan(2_000);
  expect(cooldowns.ageAt(200_000)).toBeGreaterThan(0);
  expect(cooldowns.ageAt(1_000_000)).toBeNull();
});
