import { readFile } from 'node:fs/promises';
import { startLocalRedis } from '@holdoff/service-runtime';
import type { LocalRedis } from '@holdoff/service-runtime';
import * as fc from 'fast-check';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { OUTCOME_CLASSES, type OutcomeClass } from '../../core/classify-outcome.ts';
import { lessonOf } from '../../core/failing-host.ts';
import { settlePace } from '../../core/learn-pace.ts';
import type { PaceResult } from '../../core/learn-pace.ts';
import { NEW_PACE, commitPace, limitPace, paceInterval, paceOpensAt } from '../../core/pace.ts';
import type { PaceLimit, PaceRules, PaceState } from '../../core/pace.ts';

/** Runs a whole sequence in one call, reading and writing the hash around every step as the gate's scripts do. */
const DRIVER = `
local key = KEYS[1]
local input = cjson.decode(ARGV[1])
local function without_nulls(value)
  if type(value) ~= 'table' then return value end
  for name, inner in pairs(value) do
    if inner == cjson.null then value[name] = nil else without_nulls(inner) end
  end
  return value
end
without_nulls(input)
local rules = pace_limit(input.rules, input.limit)
local replies = {}
for i, step in ipairs(input.steps) do
  local pace = pace_read(redis.call('HMGET', key, unpack(pace_fields())))
  local bound = -1
  local opens = pace_opens_at(pace, step.now)
  if step.kind == 'commit' then
    bound = pace_commit(pace, rules, step.now)
  else
    step.outcome = pace_lesson(pace, step.outcome, step.current, step.ownCooldownUntilMs)
    pace_settle(pace, rules, step, step.now)
  end
  redis.call('HSET', key, unpack(pace_write(pace)))
  local reply = { string.format('%.17g', opens), bound, string.format('%.17g', pace_interval(pace, rules, step.now)) }
  for _, value in ipairs(pace_write(pace)) do reply[#reply + 1] = value end
  replies[i] = reply
end
return replies
`;

type Step = { readonly now: number } & (
  | { readonly kind: 'commit' }
  | ({ readonly kind: 'settle'; readonly ownCooldownUntilMs: number } & PaceResult)
);

let server: LocalRedis;
let redis: Redis;
let script: string;

beforeAll(async () => {
  server = await startLocalRedis({ searchPath: process.env['PATH'] ?? '', persistent: false });
  redis = new Redis(server.url);
  script = `${await readFile(new URL('pace.lua', import.meta.url), 'utf8')}\n${DRIVER}`;
});

afterAll(async () => {
  await redis?.quit();
  await server?.stop();
});

const interval = fc.oneof(
  fc.integer({ min: 1, max: 10_000 }),
  fc.double({ min: 1, max: 10_000, noNaN: true }),
);
const learn = fc.record({
  startIntervalMs: interval,
  floorIntervalMs: fc.integer({ min: 500, max: 20_000 }),
  ceilingIntervalMs: fc.constantFrom(0, 0, 5, 333.3),
  doubleAfterSuccesses: fc.integer({ min: 1, max: 12 }),
  doubleAfterMs: fc.integer({ min: 0, max: 3_000 }),
  decrease: fc.constantFrom(0.5, 0.85, 0.9),
  recoveryLeastMs: fc.integer({ min: 1_000, max: 120_000 }),
  recoveryPauses: fc.integer({ min: 1, max: 20 }),
  recoveryMostMs: fc.integer({ min: 120_000, max: 1_800_000 }),
});
const rules: fc.Arbitrary<PaceRules> = fc.record({
  paceIntervalMs: fc.constantFrom(0, 0, 250, 1_000.5),
  learn: fc.oneof({ weight: 5, arbitrary: learn }, { weight: 1, arbitrary: fc.constant(null) }),
  ramp: fc.constantFrom(null, { durationMs: 10_000, startFraction: 0.25 }),
});
const limit: fc.Arbitrary<PaceLimit> = fc.oneof(
  fc.constantFrom<PaceLimit>({ kind: 'none' }, { kind: 'off' }, { kind: 'reset' }),
  fc.record({ kind: fc.constant('fixed' as const), intervalMs: interval }),
  fc.record({
    kind: fc.constant('bounds' as const),
    floorIntervalMs: fc.option(interval),
    ceilingIntervalMs: fc.option(interval),
  }),
);
const tick = fc.integer({ min: 0, max: 2_000 });
const settle = fc.record({
  kind: fc.constant('settle' as const),
  tick,
  outcome: fc.oneof(
    { weight: 4, arbitrary: fc.constant('served' as const) },
    { weight: 2, arbitrary: fc.constantFrom(...OUTCOME_CLASSES) },
  ),
  current: fc.boolean(),
  bound: fc.boolean(),
  cooldownMs: fc.constantFrom(0, 0, 0, 1, 1_234, 30_000),
  own: fc.boolean(),
  latencyMs: fc.oneof(
    fc.constant(0),
    fc.integer({ min: 1, max: 400 }),
    fc.integer({ min: 1_000, max: 9_000 }),
  ),
  hint: fc.option(
    fc.record({ remaining: fc.integer({ min: 0, max: 9 }), forMs: fc.integer({ min: -5, max: 9_000 }) }),
    { freq: 4 },
  ),
  inFlight: fc.integer({ min: 0, max: 4 }),
});
const commit = fc.record({ kind: fc.constant('commit' as const), tick });
/** Wild runs hardly ever fail for long, or refuse now and then for ever. */
const weather = fc.constantFrom('wild' as const, 'failing' as const, 'refusing' as const);

function inWeather<
  S extends {
    readonly outcome: OutcomeClass;
    readonly current: boolean;
    readonly cooldownMs: number;
    readonly latencyMs: number;
  },
>(step: S, kind: 'wild' | 'failing' | 'refusing'): S {
  if (kind === 'wild') return step;
  if (step.outcome === 'served')
    return { ...step, current: true, cooldownMs: 0, latencyMs: 1 + step.latencyMs };
  const outcome = kind === 'failing' ? 'unavailable' : 'throttled';
  return { ...step, outcome, current: true, cooldownMs: Math.min(1, step.cooldownMs) };
}

test('the Lua twin gives bit-equal answers on random runs', { timeout: 60_000 }, async () => {
  let run = 0;
  const seen = { bound: 0, braked: 0, steady: 0, ramped: 0, noisy: 0, strained: 0, failing: 0 };
  await fc.assert(
    fc.asyncProperty(
      rules,
      limit,
      weather,
      fc.array(fc.oneof(settle, commit), { minLength: 1, maxLength: 150, size: 'max' }),
      async (given, override, sky, raw) => {
        let now = 1_900_000_000_000;
        const steps = raw.map((step, index): Step => {
          now += step.tick;
          if (step.kind === 'commit') return { kind: 'commit', now };
          const { tick: _, cooldownMs, own, hint, ...rest } = inWeather(step, sky);
          // Long runs end on a host that has become slow, so that the brake works.
          const latencyMs = index < 60 || sky !== 'wild' ? rest.latencyMs : rest.latencyMs * 20;
          const rateLimit = hint === null ? null : { remaining: hint.remaining, untilMs: now + hint.forMs };
          return {
            ...rest,
            latencyMs,
            now,
            cooldownUntilMs: cooldownMs === 0 ? 0 : now + cooldownMs,
            ownCooldownUntilMs: own && cooldownMs > 0 ? now + cooldownMs : 0,
            rateLimit,
          };
        });
        run += 1;
        const key = `pace-agreement:${run}`;
        const input = JSON.stringify({ rules: given, limit: override, steps });
        const replies = (await redis.eval(script, 1, key, input)) as (string | number)[][];
        await redis.del(key);

        const held = limitPace(given, override);
        let state: PaceState = NEW_PACE;
        for (const [index, step] of steps.entries()) {
          const [opens, bound, effective, ...fields] = replies[index] ?? [];
          const wanted = paceOpensAt(state, step.now);
          let wantedBound = -1;
          if (step.kind === 'commit') {
            const committed = commitPace(state, held, step.now);
            state = committed.state;
            wantedBound = committed.bound ? 1 : 0;
          } else {
            const outcome = lessonOf(state, {
              outcome: step.outcome,
              current: step.current,
              cooldownUntilMs: step.ownCooldownUntilMs,
            });
            if (outcome !== step.outcome && step.ownCooldownUntilMs === 0) seen.strained += 1;
            const before = state;
            state = settlePace(state, held, { ...step, outcome }, step.now);
            if (state.nextAtMs > before.nextAtMs && outcome === 'unavailable') seen.failing += 1;
          }
          if (wantedBound === 1) seen.bound += 1;
          if (state.brake < 1) seen.braked += 1;
          if (state.phase === 'steady') seen.steady += 1;
          if (state.rampFromMs > 0) seen.ramped += 1;
          if (state.noiseGap > 0) seen.noisy += 1;
          expect({
            step: index,
            opens: Number(opens),
            bound,
            effective: Number(effective),
            state: decode(fields),
          }).toEqual({
            step: index,
            opens: wanted,
            bound: wantedBound,
            effective: paceInterval(state, held, step.now),
            state,
          });
        }
      },
    ),
    { numRuns: 250 },
  );
  // The runs must have gone where the arithmetic is.
  expect(Object.entries(seen).filter(([, count]) => count < 5)).toEqual([]);
});

function decode(fields: (string | number)[]): Record<string, string | number> {
  const state: Record<string, string | number> = {};
  for (let index = 0; index < fields.length; index += 2) {
    const name = String(fields[index]).slice('pace:'.length);
    const value = String(fields[index + 1]);
    state[name] = name === 'phase' ? value : Number(value);
  }
  return state;
}
