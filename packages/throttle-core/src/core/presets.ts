import type { Policy } from './policy.ts';

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const MEBIBYTE = 1024 * 1024;

/** The parts on which the presets agree. */
const SHARED = {
  concurrency: 4,
  redirects: { hopsMax: 5 },
  body: {
    wireBytesMax: 10 * MEBIBYTE,
    decodedBytesMax: 20 * MEBIBYTE,
    ratioMax: 200,
    headerBytesMax: 64 * 1024,
    contentTypes: [],
  },
} as const;

/** A silent throttle is paused for in every preset: the server said "stop", only the time is missing. */
const NO_HINT_PAUSE = { noHintBaseMs: 5 * SECOND_MS, noHintCapMs: MINUTE_MS } as const;

/** The default: patient, bounded, learns each host's pace. */
const BALANCED: Policy = {
  ...SHARED,
  retryAfter: {
    parse: 'lenient',
    onMalformed: 'fallback',
    onAbsent: 'fallback',
    noHintEventsMax: 5,
    ...NO_HINT_PAUSE,
    padMultiply: 1.25,
    padAtLeastMs: SECOND_MS,
    wakeJitterMs: SECOND_MS,
    inPlaceMaxMs: 30 * SECOND_MS,
    deferOverMs: 300 * SECOND_MS,
    hostPauseMaxMs: HOUR_MS,
    quirk: null,
  },
  backoff: { kind: 'full', baseMs: SECOND_MS, capMs: MINUTE_MS },
  attempts: { totalMax: 10, throttledPerRunMax: 4, serverErrorMax: 3 },
  deadline: { jobMs: DAY_MS, required: false, attemptMs: 30 * SECOND_MS, headroomMs: 500 },
  defer: { countMax: 50, nextRunAfterMs: HOUR_MS },
  methods: ['GET', 'HEAD'],
  approvals: 'default',
  batchTokens: { kind: 'share', share: 0.2, least: 10 },
  hostTokens: { perSuccess: 0.1, cap: 10, start: 5 },
  pace: {
    intervalMs: null,
    learn: {
      startPerSecond: 2,
      floorPerSecond: 0.1,
      ceilingPerSecond: null,
      doubleAfterSuccesses: 10,
      doubleAfterMs: 2500,
      decrease: 0.9,
      recoveryLeastMs: 120 * SECOND_MS,
      recoveryPauses: 20,
      recoveryMostMs: HOUR_MS,
      keepMs: 7 * DAY_MS,
    },
  },
  circuit: { responsesMax: 25, eventsMax: 5, openMs: 600 * SECOND_MS, growth: 2, openMostMs: HOUR_MS },
  ramp: { durationMs: 10 * SECOND_MS, startFraction: 0.25 },
};

/** The server's header decides everything; no budgets of our own. */
const HEADER_FIRST: Policy = {
  ...SHARED,
  retryAfter: {
    parse: 'lenient',
    onMalformed: 'fallback',
    onAbsent: 'defer',
    noHintEventsMax: null,
    ...NO_HINT_PAUSE,
    padMultiply: 1.25,
    padAtLeastMs: 0,
    wakeJitterMs: SECOND_MS,
    inPlaceMaxMs: 30 * SECOND_MS,
    deferOverMs: 300 * SECOND_MS,
    hostPauseMaxMs: null,
    quirk: null,
  },
  backoff: { kind: 'proportional', baseMs: SECOND_MS, capMs: MINUTE_MS },
  attempts: { totalMax: null, throttledPerRunMax: 4, serverErrorMax: null },
  deadline: { jobMs: null, required: false, attemptMs: 30 * SECOND_MS, headroomMs: 0 },
  defer: { countMax: null, nextRunAfterMs: HOUR_MS },
  methods: 'any',
  approvals: 'none',
  batchTokens: { kind: 'off' },
  hostTokens: null,
  pace: { intervalMs: null, learn: null },
  circuit: {
    responsesMax: 25,
    eventsMax: null,
    openMs: 600 * SECOND_MS,
    growth: 1,
    openMostMs: 600 * SECOND_MS,
  },
  ramp: null,
};

/** Every retry is accounted for; anything unclear waits for its owner. */
const STRICT_BUDGET: Policy = {
  ...SHARED,
  retryAfter: {
    parse: 'strict',
    onMalformed: 'stop',
    onAbsent: 'hold',
    noHintEventsMax: null,
    ...NO_HINT_PAUSE,
    padMultiply: 1,
    padAtLeastMs: 0,
    wakeJitterMs: 0,
    inPlaceMaxMs: 0,
    deferOverMs: null,
    hostPauseMaxMs: null,
    quirk: null,
  },
  backoff: { kind: 'full', baseMs: SECOND_MS, capMs: 4 * SECOND_MS },
  attempts: { totalMax: 3, throttledPerRunMax: null, serverErrorMax: null },
  deadline: { jobMs: null, required: true, attemptMs: 30 * SECOND_MS, headroomMs: 0 },
  // A deferral is a promise to come back later: the owner must say how often before one is made.
  defer: { countMax: 0, nextRunAfterMs: HOUR_MS },
  methods: ['GET', 'HEAD'],
  approvals: 'explicit',
  batchTokens: { kind: 'explicit' },
  hostTokens: null,
  pace: { intervalMs: null, learn: null },
  circuit: null,
  ramp: null,
};

export const PRESET_NAMES = ['balanced', 'header-first', 'strict-budget'] as const;
export type PresetName = (typeof PRESET_NAMES)[number];

/** The three named starting points of a policy file. Deeply frozen: a preset is shared by every host. */
export const PRESETS: Readonly<Record<PresetName, Policy>> = deepFreeze({
  balanced: BALANCED,
  'header-first': HEADER_FIRST,
  'strict-budget': STRICT_BUDGET,
});

function deepFreeze<T extends object>(value: T): T {
  for (const part of Object.values(value)) if (typeof part === 'object' && part !== null) deepFreeze(part);
  return Object.freeze(value);
}
