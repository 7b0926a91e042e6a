import type { CircuitPolicy, LearnPolicy, Policy } from '../core/policy.ts';
import { PRESETS } from '../core/presets.ts';
import type { Prices, SpendLimits } from '../core/retry-budget.ts';
import type { PolicyValues } from './fields.ts';

/** What the workers need to know of a host besides its policy. Secrets are named here, never written. */
export interface HostSettings {
  readonly proxyRef: string | null;
  /** exit: each proxy to the host is a throttling scope by itself (`hostKeyThrough`). */
  readonly throttleScope: 'host' | 'exit';
  readonly headersRef: string | null;
  /** Allowed besides 80 and 443. */
  readonly allowPorts: readonly number[];
  /** An exception from robots.txt; null: it is obeyed. Over at `expiresAtMs`. */
  readonly robotsException: { readonly reason: string; readonly expiresAtMs: number } | null;
}

/** What a batch may spend, and what is charged for it. Millionths of the operator's currency unit. */
export interface SpendPolicy extends Prices {
  readonly limits: SpendLimits;
}

/** Takes a policy apart. A switched-off group shows what it would have if it were switched on: balanced's values. */
export function valuesOf(policy: Policy): PolicyValues {
  const { retryAfter, backoff, attempts, defer, body } = policy;
  return {
    'retry_after.parse': retryAfter.parse,
    'retry_after.on_malformed': retryAfter.onMalformed,
    'retry_after.on_absent': retryAfter.onAbsent,
    'retry_after.hold_after_events': retryAfter.noHintEventsMax,
    'retry_after.no_hint_pause.base': retryAfter.noHintBaseMs,
    'retry_after.no_hint_pause.cap': retryAfter.noHintCapMs,
    'retry_after.pad.multiply': retryAfter.padMultiply,
    'retry_after.pad.at_least': retryAfter.padAtLeastMs,
    'retry_after.pad.wake_jitter': retryAfter.wakeJitterMs,
    'retry_after.in_place_max': retryAfter.inPlaceMaxMs,
    'retry_after.defer_over': retryAfter.deferOverMs,
    'retry_after.host_pause_max': retryAfter.hostPauseMaxMs,
    'retry_after.quirk': retryAfter.quirk ?? 'none',
    'backoff.kind': backoff.kind,
    'backoff.base': backoff.baseMs,
    'backoff.cap': backoff.capMs,
    'attempts.max_total': attempts.totalMax,
    'attempts.max_429_per_run': attempts.throttledPerRunMax,
    'attempts.max_500': attempts.serverErrorMax,
    ...deadlineValues(policy),
    'defer.max_count': defer.countMax,
    'defer.next_run_after': defer.nextRunAfterMs,
    methods: policy.methods,
    approvals: policy.approvals,
    ...tokenValues(policy),
    concurrency: policy.concurrency,
    'pace.interval': policy.pace.intervalMs,
    'pace.learn': policy.pace.learn === null ? 'off' : 'on',
    ...learnValues(policy.pace.learn ?? DEFAULT_LEARN),
    circuit: policy.circuit === null ? 'off' : 'on',
    ...circuitValues(policy.circuit ?? DEFAULT_CIRCUIT),
    ...rampValues(policy),
    'redirects.max_hops': policy.redirects.hopsMax,
    'body.wire_max': body.wireBytesMax,
    'body.decoded_max': body.decodedBytesMax,
    'body.ratio_max': body.ratioMax,
    'body.headers_max': body.headerBytesMax,
    'body.content_types': body.contentTypes,
    ...OUTSIDE_THE_POLICY,
  };
}

const DEFAULT_LEARN = known(PRESETS.balanced.pace.learn);
const DEFAULT_CIRCUIT = known(PRESETS.balanced.circuit);
const DEFAULT_RAMP = known(PRESETS.balanced.ramp);
const DEFAULT_HOST_TOKENS = known(PRESETS.balanced.hostTokens);
const DEFAULT_SHARE = { share: 0.2, least: 10 };

function known<T>(value: T | null): T {
  if (value === null) throw new Error('the balanced preset must switch every group on');
  return value;
}

const OUTSIDE_THE_POLICY = {
  proxy: null,
  throttle_scope: 'host',
  headers: null,
  allow_ports: [],
  'robots.obey': true,
  'robots.reason': null,
  'robots.expires': null,
  'spend.max_bytes': null,
  'spend.max_requests': null,
  'spend.max_cost': null,
  'spend.price_per_gb': 0,
  'spend.price_per_1000_requests': 0,
} as const;

function deadlineValues({
  deadline,
}: Policy): Pick<PolicyValues, 'deadline' | 'attempt_budget' | 'headroom'> {
  return {
    deadline: deadline.jobMs ?? (deadline.required ? 'required' : 'none'),
    attempt_budget: deadline.attemptMs,
    headroom: deadline.headroomMs,
  };
}

function tokenValues({ batchTokens, hostTokens }: Policy) {
  const { share, least } = batchTokens.kind === 'share' ? batchTokens : DEFAULT_SHARE;
  const host = hostTokens ?? DEFAULT_HOST_TOKENS;
  return {
    batch_tokens: batchTokens.kind,
    'batch_tokens.share': share,
    'batch_tokens.least': least,
    host_tokens: hostTokens === null ? ('off' as const) : ('on' as const),
    'host_tokens.per_success': host.perSuccess,
    'host_tokens.cap': host.cap,
    'host_tokens.start': host.start,
  };
}

function learnValues(learn: LearnPolicy) {
  return {
    'pace.learn.start': learn.startPerSecond,
    'pace.learn.floor': learn.floorPerSecond,
    'pace.learn.ceiling': learn.ceilingPerSecond,
    'pace.learn.double_after_successes': learn.doubleAfterSuccesses,
    'pace.learn.double_after': learn.doubleAfterMs,
    'pace.learn.decrease': learn.decrease,
    'pace.learn.recovery.least': learn.recoveryLeastMs,
    'pace.learn.recovery.pauses': learn.recoveryPauses,
    'pace.learn.recovery.most': learn.recoveryMostMs,
    'pace.learn.keep': learn.keepMs,
  };
}

function circuitValues(circuit: CircuitPolicy) {
  return {
    'circuit.responses': circuit.responsesMax,
    'circuit.events': circuit.eventsMax,
    'circuit.open': circuit.openMs,
    'circuit.growth': circuit.growth,
    'circuit.open_max': circuit.openMostMs,
  };
}

function rampValues({ ramp }: Policy) {
  const { durationMs, startFraction } = ramp ?? DEFAULT_RAMP;
  return {
    ramp: ramp === null ? ('off' as const) : ('on' as const),
    'ramp.duration': durationMs,
    'ramp.start': startFraction,
  };
}

/** Puts a policy together; the inverse of {@link valuesOf}. */
export function policyOf(values: PolicyValues): Policy {
  return {
    retryAfter: {
      parse: values['retry_after.parse'],
      onMalformed: values['retry_after.on_malformed'],
      onAbsent: values['retry_after.on_absent'],
      noHintEventsMax: values['retry_after.hold_after_events'],
      noHintBaseMs: values['retry_after.no_hint_pause.base'],
      noHintCapMs: values['retry_after.no_hint_pause.cap'],
      padMultiply: values['retry_after.pad.multiply'],
      padAtLeastMs: values['retry_after.pad.at_least'],
      wakeJitterMs: values['retry_after.pad.wake_jitter'],
      inPlaceMaxMs: values['retry_after.in_place_max'],
      deferOverMs: values['retry_after.defer_over'],
      hostPauseMaxMs: values['retry_after.host_pause_max'],
      quirk: values['retry_after.quirk'] === 'none' ? null : values['retry_after.quirk'],
    },
    backoff: { kind: values['backoff.kind'], baseMs: values['backoff.base'], capMs: values['backoff.cap'] },
    attempts: {
      totalMax: values['attempts.max_total'],
      throttledPerRunMax: values['attempts.max_429_per_run'],
      serverErrorMax: values['attempts.max_500'],
    },
    deadline: {
      jobMs: typeof values.deadline === 'number' ? values.deadline : null,
      required: values.deadline === 'required',
      attemptMs: values.attempt_budget,
      headroomMs: values.headroom,
    },
    defer: { countMax: values['defer.max_count'], nextRunAfterMs: values['defer.next_run_after'] },
    methods: values.methods,
    approvals: values.approvals,
    batchTokens: batchTokensOf(values),
    hostTokens: values.host_tokens === 'off' ? null : hostTokensOf(values),
    concurrency: values.concurrency,
    pace: {
      intervalMs: values['pace.interval'],
      learn: values['pace.learn'] === 'off' ? null : learnOf(values),
    },
    circuit: values.circuit === 'off' ? null : circuitOf(values),
    ramp:
      values.ramp === 'off'
        ? null
        : { durationMs: values['ramp.duration'], startFraction: values['ramp.start'] },
    redirects: { hopsMax: values['redirects.max_hops'] },
    body: {
      wireBytesMax: values['body.wire_max'],
      decodedBytesMax: values['body.decoded_max'],
      ratioMax: values['body.ratio_max'],
      headerBytesMax: values['body.headers_max'],
      contentTypes: values['body.content_types'],
    },
  };
}

function batchTokensOf(values: PolicyValues): Policy['batchTokens'] {
  const kind = values.batch_tokens;
  if (kind !== 'share') return { kind };
  return { kind, share: values['batch_tokens.share'], least: values['batch_tokens.least'] };
}

function hostTokensOf(values: PolicyValues): NonNullable<Policy['hostTokens']> {
  return {
    perSuccess: values['host_tokens.per_success'],
    cap: values['host_tokens.cap'],
    start: values['host_tokens.start'],
  };
}

function learnOf(values: PolicyValues): LearnPolicy {
  return {
    startPerSecond: values['pace.learn.start'],
    floorPerSecond: values['pace.learn.floor'],
    ceilingPerSecond: values['pace.learn.ceiling'],
    doubleAfterSuccesses: values['pace.learn.double_after_successes'],
    doubleAfterMs: values['pace.learn.double_after'],
    decrease: values['pace.learn.decrease'],
    recoveryLeastMs: values['pace.learn.recovery.least'],
    recoveryPauses: values['pace.learn.recovery.pauses'],
    recoveryMostMs: values['pace.learn.recovery.most'],
    keepMs: values['pace.learn.keep'],
  };
}

function circuitOf(values: PolicyValues): CircuitPolicy {
  return {
    responsesMax: values['circuit.responses'],
    eventsMax: values['circuit.events'],
    openMs: values['circuit.open'],
    growth: values['circuit.growth'],
    openMostMs: values['circuit.open_max'],
  };
}

export function settingsOf(values: PolicyValues): HostSettings {
  const reason = values['robots.reason'];
  const expiresAtMs = values['robots.expires'];
  const excepted = !values['robots.obey'] && reason !== null && expiresAtMs !== null;
  return {
    proxyRef: values.proxy,
    throttleScope: values.throttle_scope,
    headersRef: values.headers,
    allowPorts: values.allow_ports,
    robotsException: excepted ? { reason, expiresAtMs } : null,
  };
}

const MICROS = 1_000_000;

export function spendOf(values: PolicyValues): SpendPolicy {
  return {
    limits: {
      bytesMax: values['spend.max_bytes'] ?? 0,
      requestsMax: values['spend.max_requests'] ?? 0,
      costMicrosMax: Math.round((values['spend.max_cost'] ?? 0) * MICROS),
    },
    microsPerGigabyte: Math.round(values['spend.price_per_gb'] * MICROS),
    microsPerThousandRequests: Math.round(values['spend.price_per_1000_requests'] * MICROS),
  };
}
