import { expect, test } from 'vitest';
import { explainReason, type PlanReason } from './plan-reason.ts';

const sentences: readonly (readonly [PlanReason, string])[] = [
  [{ code: 'served' }, 'the server answered'],
  [
    { code: 'redirected', hop: 2, hopsMax: 5 },
    'redirect 2 of at most 5: the attempt goes on at the next host',
  ],
  [{ code: 'given_back' }, 'the attempt was cut short on our side, which says nothing about the host'],
  [{ code: 'cancelled' }, 'the batch was cancelled'],
  [{ code: 'not_approved' }, 'the batch is not approved'],
  [{ code: 'method', method: 'POST' }, 'the policy does not repeat POST requests'],
  [{ code: 'outcome', stop: 'tls' }, 'the answer is final (tls)'],
  [{ code: 'redirect_limit', hop: 6, hopsMax: 5 }, 'redirect 6 is one more than the 5 the policy follows'],
  [{ code: 'no_usable_wait', wait: 'absent' }, 'throttled without a wait, and the policy stops then'],
  [{ code: 'no_usable_wait', wait: 'malformed' }, 'the wait cannot be read, and the policy stops then'],
  [
    { code: 'host_held', cause: 'host_pause_max' },
    'the host is held for its owner: the wait is longer than the policy pauses a host by itself',
  ],
  [
    { code: 'host_held', cause: 'no_hint_events' },
    'the host is held for its owner: too many throttling events in a row without a usable wait',
  ],
  [{ code: 'host_held', cause: 'malformed' }, 'the host is held for its owner: the wait cannot be read'],
  [{ code: 'host_held', cause: 'absent' }, 'the host is held for its owner: throttled without a wait'],
  [{ code: 'attempts_used', attempts: 3, attemptsMax: 3 }, 'all 3 attempts are used (3)'],
  [{ code: 'deadline_missing' }, 'the policy demands a deadline, and neither job nor batch names one'],
  [
    { code: 'deadline', notBeforeMs: 1000, attemptMs: 5000, headroomMs: 500, deadlineMs: 4000 },
    'the next attempt could end 2.5 s after the deadline',
  ],
  [
    { code: 'deadline', notBeforeMs: 1000, attemptMs: 3000, headroomMs: 0, deadlineMs: 4000 },
    'the next attempt could end exactly at the deadline, and must end before it',
  ],
  [{ code: 'spend', limit: 'cost' }, 'the batch has reached its limit of cost'],
  [{ code: 'no_tokens', bucket: 'batch' }, 'the batch has no retry token left'],
  [{ code: 'deferrals_used', deferrals: 50, deferralsMax: 50 }, 'all 50 deferrals are used (50)'],
  [{ code: 'retry', binding: 'backoff' }, 'ask again; our own back-off is the latest of the waits'],
  [{ code: 'retry', binding: 'now' }, 'ask again; nothing has to be waited for'],
  [{ code: 'retry', binding: 'circuit' }, "ask again; the host's open circuit is the latest of the waits"],
  [{ code: 'retry', binding: 'stored' }, 'ask again; the instant was fixed when the job was planned first'],
  [
    { code: 'defer', cause: 'long_wait', binding: 'server_wait' },
    "the wait is too long for this run; the server's wait is the latest of the waits",
  ],
  [
    { code: 'defer', cause: 'no_hint', binding: 'cooldown' },
    "throttled without a usable wait, so this run is over; the host's cooldown is the latest of the waits",
  ],
  [
    { code: 'defer', cause: 'run_limit', binding: 'next_run' },
    'too many 429s in this run; the next run begins then',
  ],
];

test.for(sentences)('%o is explained', ([reason, sentence]) => {
  expect(explainReason(reason)).toBe(sentence);
});
