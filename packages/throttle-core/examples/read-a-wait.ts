import { explainReading, parseRetryAfterLenient, parseRetryAfterStrict } from '@holdoff/throttle-core';

const noonMs = Date.UTC(2026, 5, 15, 12);

const decimal = { lines: ['30.5'], receivedAtMs: noonMs };
console.log(parseRetryAfterStrict(decimal));
// { kind: 'malformed', fault: 'not_a_date' }

const reading = parseRetryAfterLenient(decimal);
console.log(reading.kind === 'delay' ? reading.seconds : reading.kind, explainReading(reading));
// 31 a number of seconds, rounded up

const repeated = parseRetryAfterLenient({
  lines: ['10', 'Mon, 15 Jun 2026 12:01:00 GMT'],
  dateLines: ['Mon, 15 Jun 2026 12:00:00 GMT'],
  // Our clock is an hour fast; the server's own clock keeps us from being early.
  receivedAtMs: noonMs + 3_600_000,
});
console.log(repeated.kind === 'delay' ? `${repeated.seconds} s by ${repeated.basis}` : repeated.kind);
// 60 s by date_header
