import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { AttemptEvent, AttemptEvents } from './attempt.ts';

/**
 * The worker's metrics. Every label is from a closed set; hosts and URLs are never labels, so the number of
 * series does not grow with what is fetched.
 */
export function createWorkerMetrics(registry: Registry): AttemptEvents & { readonly inFlight: Gauge } {
  const registers = [registry];
  const requests = new Counter({
    name: 'holdoff_requests_total',
    help: 'Requests on the wire by outcome class and who answered.',
    labelNames: ['outcome', 'source'],
    registers,
  });
  const seconds = new Histogram({
    name: 'holdoff_request_duration_seconds',
    help: 'From the first byte sent to the end of the body, by outcome class.',
    labelNames: ['outcome'],
    buckets: [0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 60],
    registers,
  });
  const bytes = new Counter({
    name: 'holdoff_response_bytes_total',
    help: 'Bytes of response bodies as they came over the wire.',
    registers,
  });
  const waits = new Counter({
    name: 'holdoff_waits_total',
    help: 'Admissions refused with a wait, by cause, and whether it was waited out in the worker.',
    labelNames: ['cause', 'inline'],
    registers,
  });
  const ended = new Counter({
    name: 'holdoff_urls_ended_total',
    help: 'URLs that ended, by outcome and stop reason.',
    labelNames: ['outcome', 'reason'],
    registers,
  });
  const faults = new Counter({
    name: 'holdoff_delivery_faults_total',
    help: 'Results that could not be written; intake pauses until they can.',
    registers,
  });
  const inFlight = new Gauge({
    name: 'holdoff_jobs_in_flight',
    help: 'Deliveries that this worker is working on.',
    registers,
  });
  return {
    inFlight,
    attempt(event: AttemptEvent): void {
      requests.inc({ outcome: event.outcome, source: event.source });
      seconds.observe({ outcome: event.outcome }, event.durationMs / 1_000);
      bytes.inc(event.bytes);
    },
    waited: ({ cause, inline }) => waits.inc({ cause, inline: String(inline) }),
    ended: ({ outcome, reason }) => ended.inc({ outcome, reason: reason ?? 'none' }),
    deliveryFault: () => faults.inc(),
  };
}
