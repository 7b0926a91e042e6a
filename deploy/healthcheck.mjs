// A container's own view of its health, without a shell or curl in the image: exit 0 when /healthz answers 200.
const port = process.env.METRICS_PORT || '9464';
const answer = await fetch(`http://127.0.0.1:${port}/healthz`, { signal: AbortSignal.timeout(8_000) }).catch(
  () => null,
);
process.exitCode = answer?.ok ? 0 : 1;
