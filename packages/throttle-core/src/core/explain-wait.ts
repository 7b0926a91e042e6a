import type { WaitBasis, WaitFault, WaitForm, WaitReading } from './retry-after.ts';
import { WAIT_SECONDS_MAX } from './wait-number.ts';

/** One line for people: how a value was read, or why it gives no usable wait. */
export function explainReading(reading: WaitReading): string {
  switch (reading.kind) {
    case 'absent':
      return 'the header is not there';
    case 'malformed':
      return FAULTS[reading.fault];
    case 'delay': {
      const parts = [FORMS[reading.form], BASES[reading.basis]];
      if (reading.seconds === WAIT_SECONDS_MAX) parts.push('cut to 2^31 s, the longest wait there is');
      if (reading.candidates > 1) parts.push(`the longest of ${reading.candidates} values`);
      return parts.filter((part) => part !== '').join('; ');
    }
  }
}

const FORMS: Readonly<Record<WaitForm, string>> = {
  whole_seconds: 'whole seconds',
  decimal: 'a number of seconds, rounded up',
  labelled: 'a number with its unit, rounded up to whole seconds',
  imf_fixdate: 'an HTTP-date (IMF-fixdate)',
  rfc850_date: 'an HTTP-date in the obsolete RFC 850 form',
  asctime_date: 'an HTTP-date in the obsolete asctime form, which is UTC',
  iso_8601: 'an ISO 8601 instant with its zone',
  sloppy_date: 'a date outside the three HTTP-date forms, in a spelling that is certain',
  milliseconds: 'milliseconds, rounded up to whole seconds',
  epoch_seconds: 'an instant in seconds since 1970',
  epoch_milliseconds: 'an instant in milliseconds since 1970',
  go_duration: 'a Go duration, rounded up to whole seconds',
  rate_limit_window: 'the window of a quota that is used up (r=0)',
};

const BASES: Readonly<Record<WaitBasis, string>> = {
  span: '',
  receipt: 'counted from receipt',
  date_header: "counted from the response's Date, because that wait is longer than the one from receipt",
};

const FAULTS: Readonly<Record<WaitFault, string>> = {
  empty: 'the header is there, without a value',
  several_lines: 'the header may be sent once only (RFC 9110 section 5.3)',
  not_a_date: 'neither whole seconds nor one of the three HTTP-dates (RFC 9110 section 10.2.3)',
  impossible_date: 'a date or time that does not exist',
  wrong_weekday: 'the date fell on another day of the week',
  unknown_zone: 'a time zone that is not certain',
  no_zone: "a time without its zone is the server's local time, which is not known",
  negative: 'a negative wait is no permission to go at once: no usable hint',
  unreadable: 'no usable hint: not a number, not a known unit, not a date',
  sloppy_past:
    'a date outside the HTTP-date forms that is over is more likely misread than meant: no usable hint',
  quota_left: 'quota is left: no wait is forced, the quota only bounds the pace',
  no_window: 'the quota is used up, but for how long is not said',
};
