import type { Command } from 'commander';
import pc from 'picocolors';
import type { BatchId, Gate, JobId, JobSnapshot } from '@holdoff/throttle-core';
import { canonicalUrl, isBatchName, isUrlJobId, urlJobId } from '@holdoff/url-job';
import { describeBatch, reportOf } from '../operator/describe-batch.ts';
import { describeHost } from '../operator/describe-host.ts';
import { explainJob } from '../operator/explain-job.ts';
import {
  batchIdOf,
  fields,
  fromNow,
  hostKeyOf,
  instant,
  operatorCommand,
  type OperatorFlags,
  OperatorFault,
  withFleet,
} from '../operator/operator-command.ts';
import { scopesOf } from '../operator/scopes-of.ts';
import type { RunStore } from '../run/run-store.ts';

const METHODS = ['GET', 'HEAD'] as const;

interface Flags extends OperatorFlags {
  readonly batch?: string;
}

/** `holdoff explain`: why a URL, a job, a host or a batch is where it is. */
export function explainCommand(): Command {
  return operatorCommand(
    'explain',
    'say why a URL, job, host or batch waits, until when, and on what evidence',
  )
    .argument('<what>', 'a URL, a job id (j_…), a host or the name of a batch')
    .option('--batch <name>', 'batch of the URL; default: every batch that has it')
    .action((what: string, flags: Flags) =>
      withFleet('explain', flags, async (store) => {
        const { gate } = store;
        if (what.includes('://')) return explainUrl(gate, what, flags.batch);
        if (isUrlJobId(what)) {
          const job = await gate.inspectJob(what as string as JobId);
          if (job === undefined) throw new OperatorFault(`the fleet knows no job ${what}`);
          return tell(gate, job, what);
        }
        return explainName(store, flags.deployment, what);
      }),
    );
}

async function explainName(
  store: RunStore,
  deployment: string,
  name: string,
): Promise<{ json: unknown; text: string }> {
  const { gate } = store;
  const scopes = await scopesOf(store, deployment, hostKeyOf(name));
  const known = await Promise.all(scopes.map((scope) => gate.inspectHost(scope)));
  const hosts = known.filter((host) => host !== undefined).map((host) => ({ kind: 'host', ...host }));
  if (hosts.length > 0)
    return { json: hosts.length === 1 ? hosts[0] : hosts, text: hosts.map(describeHost).join('\n\n') };
  const batch = isBatchName(name) ? await gate.inspectBatch(batchIdOf(name)) : undefined;
  if (batch !== undefined) return { json: { kind: 'batch', ...reportOf(batch) }, text: describeBatch(batch) };
  throw new OperatorFault(`the fleet knows no host and no batch ${JSON.stringify(name)}`);
}

async function explainUrl(
  gate: Gate,
  text: string,
  batchName: string | undefined,
): Promise<{ json: unknown; text: string }> {
  const url = canonicalUrl(text);
  if (url.kind === 'invalid')
    throw new OperatorFault(`${url.fault.field} ${JSON.stringify(url.fault.value)} ${url.fault.rule}`);
  const batches: readonly BatchId[] =
    batchName === undefined ? await gate.listBatches() : [batchIdOf(batchName)];
  const told = [];
  for (const batch of batches) {
    for (const method of METHODS) {
      const id = urlJobId({ url: url.value.url, batch, method }) as string as JobId;
      const job = await gate.inspectJob(id);
      if (job !== undefined) told.push(await tell(gate, job, `${method} ${url.value.url}`));
    }
  }
  if (told.length === 0) throw new OperatorFault(`no batch has the URL ${url.value.url}`);
  if (told.length === 1 && told[0] !== undefined) return told[0];
  return { json: told.map(({ json }) => json), text: told.map((one) => one.text).join('\n\n') };
}

async function tell(gate: Gate, job: JobSnapshot, name: string): Promise<{ json: unknown; text: string }> {
  const [host, batch, nowMs] = await Promise.all([
    gate.inspectHost(job.waiting?.scope ?? job.host),
    gate.inspectBatch(job.batch),
    gate.now(),
  ]);
  const explanation = explainJob(job, host, batch);
  const { facts } = job;
  const rows: [string, string][] = [
    ['what', name],
    ['job', `${job.job} of batch ${job.batch}, host ${job.host}`],
    ['state', pc.bold(explanation.state)],
    ['why', explanation.why],
    [
      'until',
      explanation.untilMs === null || explanation.untilMs === 0 ? '-' : fromNow(explanation.untilMs, nowMs),
    ],
    ['decided by', explanation.decidedBy],
    ['evidence', explanation.evidence ?? '-'],
    ['next', explanation.next],
    [
      'so far',
      `${facts.attempts} attempts, ${facts.deferrals} deferrals, run ${facts.run}, ${job.requests} requests, ${job.bytes} bytes`,
    ],
    ['deadline', facts.deadlineMs === 0 ? 'none' : fromNow(facts.deadlineMs, nowMs)],
  ];
  const trail = job.trail.map(
    ({ atMs, event, detail }) => `  ${pc.dim(instant(atMs))}  ${event.padEnd(9)} ${readable(detail)}`,
  );
  const text =
    trail.length === 0
      ? fields(rows)
      : `${fields(rows)}\n\n${pc.dim('trail, newest first')}\n${trail.join('\n')}`;
  return { json: { kind: 'job', ...job, explanation }, text };
}

/** The trail keeps instants as the gate counts them. */
function readable(detail: string): string {
  return detail.replaceAll(/\buntil (\d{13})\b/g, (_, ms: string) => `until ${instant(Number(ms))}`);
}
