import { PRESET_NAMES } from '../core/presets.ts';
import {
  duration,
  type Field,
  instant,
  integer,
  isSwitch,
  listOf,
  number,
  oneOf,
  orWord,
  orWords,
  rate,
  size,
  switched,
  text,
  truth,
} from './field.ts';

const NAME_PATTERN = '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$';
const NAME_FORM = 'a name of letters, digits, dots, dashes and underscores';
const MEDIA_TYPE_PATTERN = '^[a-z0-9][a-z0-9!#$&^_.+-]*/([a-z0-9][a-z0-9!#$&^_.+-]*|\\*)$';

/**
 * Every value of a policy file by its dotted key: meaning, form and range in one place. The schema, the JSON Schema
 * for editors, the merge of presets and overrides, the messages and docs/policy.md are all made from this table.
 */
export const FIELDS = {
  'retry_after.parse': oneOf(
    'How waits are read: exactly RFC 9110, or with the sloppy forms that people send.',
    ['strict', 'lenient'],
  ),
  'retry_after.on_malformed': oneOf('What a wait that cannot be read leads to.', [
    'fallback',
    'hold',
    'stop',
  ]),
  'retry_after.on_absent': oneOf('What a throttling answer without a wait leads to.', [
    'fallback',
    'defer',
    'hold',
    'stop',
  ]),
  'retry_after.hold_after_events': orWord(
    integer(
      'Throttling events in a row without a usable wait before the host is held for its owner.',
      1,
      1000,
    ),
    'never',
  ),
  'retry_after.no_hint_pause.base': duration(
    'First pause of a host that throttles without a usable wait; doubles with each event.',
    {
      min: '1s',
      max: '1h',
    },
  ),
  'retry_after.no_hint_pause.cap': duration('Longest such pause.', { min: '1s', max: '24h' }),
  'retry_after.pad.multiply': number('A server wait is lengthened to at least this multiple.', 1, 10),
  'retry_after.pad.at_least': duration(
    'A server wait is lengthened by at least this much; doubles with each 429 event in a row that named no wait or 0 s.',
    {
      min: '0s',
      max: '1h',
    },
  ),
  'retry_after.pad.wake_jitter': duration('Random time added on top, so that waiters do not wake together.', {
    min: '0s',
    max: '10m',
  }),
  'retry_after.in_place_max': duration('Server waits up to this keep the slot of the job reserved.', {
    min: '0s',
    max: '5m',
  }),
  'retry_after.defer_over': orWord(
    duration('Server waits over this end the run; the job returns at the instant the server named.', {
      min: '0s',
      max: '30d',
    }),
    'none',
  ),
  'retry_after.host_pause_max': orWord(
    duration('Server waits over this hold the host for its owner.', { min: '1s', max: '365d' }),
    'none',
  ),
  'retry_after.quirk': orWords(
    oneOf('The unit in which this host writes its number, where it is known to differ.', [
      'seconds',
      'milliseconds',
      'epoch_seconds',
    ]),
    ['none'],
  ),

  'backoff.kind': oneOf('full: anywhere in the window. proportional: 0.5 to 1.5 times the window.', [
    'full',
    'proportional',
  ]),
  'backoff.base': duration('Window of our own back-off after the first attempt; doubles with each.', {
    min: '1ms',
    max: '1h',
  }),
  'backoff.cap': duration('Largest window. Never cuts a wait of the server.', { min: '1ms', max: '24h' }),

  'attempts.max_total': orWord(
    integer('Attempts of one job over its whole life, the first included.', 1, 1000),
    'none',
  ),
  'attempts.max_429_per_run': orWord(
    integer('429s that one run of a job may see; one more defers it to the next run.', 0, 1000),
    'none',
  ),
  'attempts.max_500': orWord(
    integer(
      'Attempts of a job after which 500 is taken for its answer: a page that is broken stays broken.',
      1,
      1000,
    ),
    'none',
  ),

  deadline: orWords(
    duration('Life of a job from its enqueueing, when the job names none. required: it must name one.', {
      min: '1s',
      max: '365d',
    }),
    ['none', 'required'],
  ),
  attempt_budget: duration('Longest time one attempt may take, redirects included.', {
    min: '100ms',
    max: '1h',
  }),
  headroom: duration('Time kept free before the deadline.', { min: '0s', max: '1h' }),

  'defer.max_count': orWord(integer('Deferrals of one job over its whole life.', 0, 100_000), 'none'),
  'defer.next_run_after': duration('When the next run begins where the server named no instant.', {
    min: '1s',
    max: '30d',
  }),

  methods: orWords(listOf('Methods that may be sent again.', oneOf('', ['GET', 'HEAD']), 1, 2), ['any']),
  approvals: oneOf('Whether a batch needs approval: not at all, given unless withheld, or only when said.', [
    'none',
    'default',
    'explicit',
  ]),

  batch_tokens: switched(
    'Retry tokens of a batch: off, only those the batch names, or a share of its jobs.',
    ['off', 'explicit'],
    'share',
  ),
  'batch_tokens.share': number('Tokens as a share of the jobs.', 0, 10),
  'batch_tokens.least': integer('Tokens a batch has at least.', 0, 1_000_000_000),

  host_tokens: switched('Retry tokens of a host, filled by success: off or on.', ['off'], 'on'),
  'host_tokens.per_success': number('Tokens earned by each success at the first attempt.', 0.001, 1),
  'host_tokens.cap': number('Most tokens a host can have.', 1, 1_000_000),
  'host_tokens.start': number('Tokens a new host begins with.', 0, 1_000_000),

  concurrency: integer('Requests to one host at the same time, by the whole fleet.', 1, 1000),

  'pace.interval': orWord(
    duration('Least time between two requests to a host.', { min: '1ms', max: '24h' }),
    'none',
  ),
  'pace.learn': switched('Whether the rate of each host is learned: off or on.', ['off'], 'on'),
  'pace.learn.start': rate('Rate a new host begins with.', { min: '1/d', max: '1000/s' }),
  'pace.learn.floor': rate('Lowest rate that is learned.', { min: '1/d', max: '1000/s' }),
  'pace.learn.ceiling': orWord(rate('Highest rate that is learned.', { min: '1/d', max: '1000/s' }), 'none'),
  'pace.learn.double_after_successes': integer('Successes before the rate doubles in slow start.', 1, 10_000),
  'pace.learn.double_after': duration('Least time before the rate doubles in slow start.', {
    min: '0s',
    max: '1h',
  }),
  'pace.learn.decrease': number('Factor on the rate after a throttling event.', 0.1, 0.99),
  'pace.learn.recovery.least': duration('The last rate is not reached again sooner than this.', {
    min: '1s',
    max: '24h',
  }),
  'pace.learn.recovery.pauses': number('... nor sooner than this many mean pauses of the host.', 0, 1000),
  'pace.learn.recovery.most': duration('Longest time until the last rate is reached again.', {
    min: '1s',
    max: '7d',
  }),
  'pace.learn.keep': duration('How long a learned rate outlives the last request.', {
    min: '1m',
    max: '365d',
  }),

  circuit: switched(
    'Whether many 429s in a row close the host to the whole fleet: off or on.',
    ['off'],
    'on',
  ),
  'circuit.responses': integer('429 responses in a row that open the circuit.', 1, 10_000),
  'circuit.events': orWord(integer('429 events in a row that open it.', 1, 1000), 'none'),
  'circuit.open': duration('How long it stays open the first time.', { min: '1s', max: '24h' }),
  'circuit.growth': number('Factor on the open time when the probe fails.', 1, 10),
  'circuit.open_max': duration('Longest open time.', { min: '1s', max: '7d' }),

  ramp: switched('Whether a host reopens gradually after a pause: off or on.', ['off'], 'on'),
  'ramp.duration': duration('Time until the full rate is reached.', { min: '1s', max: '1h' }),
  'ramp.start': number('Share of the rate at which it begins.', 0.01, 1),

  'redirects.max_hops': integer('Redirects followed in one attempt.', 0, 20),

  'body.wire_max': size('Largest body as sent.', { min: '1KiB', max: '10GiB' }),
  'body.decoded_max': size('Largest body after decompression.', { min: '1KiB', max: '10GiB' }),
  'body.ratio_max': number('Largest ratio of decoded to sent bytes.', 1, 100_000),
  'body.headers_max': size('Largest response headers.', { min: '1KiB', max: '1MiB' }),
  'body.content_types': listOf(
    'Media types that are read; an empty list: any.',
    text('', 'such as text/html or text/*', MEDIA_TYPE_PATTERN),
    0,
    100,
  ),

  proxy: orWord(
    text(
      'Name of the proxy pool; where it is and its secret are set at the workers.',
      NAME_FORM,
      NAME_PATTERN,
    ),
    'none',
  ),
  throttle_scope: oneOf(
    'What limits of a host count for: the host, or each exit (proxy) to it by itself. Never a way around a limit: a job keeps its exit.',
    ['host', 'exit'],
  ),
  headers: orWord(
    text('Name of the header set; its contents are set at the workers.', NAME_FORM, NAME_PATTERN),
    'none',
  ),
  allow_ports: listOf('Ports allowed besides 80 and 443.', integer('', 1, 65_535), 0, 100),

  'robots.obey': truth('Whether robots.txt is obeyed. false needs a reason and an expiry.'),
  'robots.reason': orWord(
    text('Who allowed it, and where that is written.', 'a text of 1 to 200 characters', '^.{1,200}$'),
    'none',
  ),
  'robots.expires': orWord(instant('When robots.txt is obeyed again.'), 'none'),

  'spend.max_bytes': orWord(size('Bytes a batch may receive.', { min: '1KiB', max: '1000TiB' }), 'none'),
  'spend.max_requests': orWord(integer('Requests a batch may send.', 1, 1_000_000_000), 'none'),
  'spend.max_cost': orWord(
    number("Cost a batch may cause, in the operator's currency.", 0.000001, 1_000_000_000),
    'none',
  ),
  'spend.price_per_gb': number('Price of 10^9 bytes.', 0, 1_000_000),
  'spend.price_per_1000_requests': number('Price of 1,000 requests.', 0, 1_000_000),
} as const satisfies Record<string, Field<unknown>>;

export type FieldKey = keyof typeof FIELDS;
export const FIELD_KEYS = Object.keys(FIELDS) as readonly FieldKey[];

/** One value for every key; those of a switched-off group are kept and not used. */
export type PolicyValues = {
  readonly [Key in FieldKey]: (typeof FIELDS)[Key] extends Field<infer Value> ? Value : never;
};

/** An exception from robots.txt is granted for named hosts, never for all. */
const NAMED_HOSTS_ONLY = ['robots'];
const WHOLE_FILE_ONLY = ['spend'];
/** What a group's hosts share with each other: their own entries cannot set it, or the limit would multiply. */
const SHARED_SCOPE = ['concurrency', 'pace', 'host_tokens', 'circuit', 'ramp', 'throttle_scope'];

export type Level = 'file' | 'group' | 'host';

/** The keys that an entry of each level can set. */
export const KEYS_AT: Readonly<Record<Level, readonly FieldKey[]>> = {
  file: FIELD_KEYS.filter((key) => !isUnder(NAMED_HOSTS_ONLY, key)),
  group: FIELD_KEYS.filter((key) => !isUnder(WHOLE_FILE_ONLY, key)),
  host: FIELD_KEYS.filter((key) => !isUnder(WHOLE_FILE_ONLY, key)),
};

/** Whether a field belongs to a group that is switched off: its value is kept and not used. */
export function isSwitchedOff(values: PolicyValues, key: FieldKey): boolean {
  return SWITCHES.some(({ group, on }) => key.startsWith(`${group}.`) && values[group] !== on);
}

const SWITCHES = FIELD_KEYS.flatMap((group) => {
  const field: Field<unknown> = FIELDS[group];
  return isSwitch(field) ? [{ group, on: field.mappingWord }] : [];
});

export function isSharedScope(key: FieldKey): boolean {
  return isUnder(SHARED_SCOPE, key);
}

function isUnder(groups: readonly string[], key: FieldKey): boolean {
  const [group = key] = key.split('.');
  return groups.includes(group);
}

/** Another way to write a value: requests per time instead of time between requests. */
export const PACE_RATE = rate('The same as a rate; one of the two.', { min: '1/d', max: '1000/s' });

export const PRESET_FIELD = oneOf('The complete policy that the file starts from.', PRESET_NAMES);
