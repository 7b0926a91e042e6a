import type { Command } from 'commander';
import type { Redis } from 'ioredis';
import pc from 'picocolors';
import type { BatchId, Gate, JobId, JobSnapshot } from '@holdoff/throttle-core';
import { canonicalUrl, isBatchName, isUrlJobId, queueNames, urlJobId } from '@holdoff/url-job';
import { counted } from '../operator/counted.ts';
import { describeBatch, reportOf } from '../operator/describe-batch.ts';
import { describeHost } from '../operator/describe-host.ts';
import { explainJob, type JobExplanation, readableInstants } from '../operator/explain-job.ts';
import { printable } from '../operator/printable.ts';
import { findInIntake } from '../operator/find-refusal.ts';
import {
  batchIdOf,
  endFromNow,
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
const LOOKS_PER_TRIP = 200;

interface Said {
  readonly json: unknown;
  readonly text: string;
}

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
    .addHelpText(
      'after',
      `
Examples:
  holdoff explain https://shop.example/a
  holdoff explain j_5Wc0hQ3JmWmq2k0Ck3mJ8c1v
  holdoff explain shop.example
  holdoff explain nightly --json`,
    )
    .action((what: string, flags: Flags) =>
      withFleet('explain', flags, async (store) => {
        const { gate } = store;
        if (what.includes('://')) return explainUrl(store, what, flags);
        if (isUrlJobId(what)) {
          const job = await gate.inspectJob(what as string as JobId);
          if (job === undefined) throw new OperatorFault(`the fleet knows no job ${what}`);
          return tell(gate, job, what);
        }
        return explainName(store, flags.deployment, what);
      }),
    );
}

async function explainName(store: RunStore, deployment: string, name: string): Promise<Said> {
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
  { gate, redis }: RunStore,
  text: string,
  { batch: batchName, deployment }: Flags,
): Promise<Said> {
  const url = canonicalUrl(text);
  if (url.kind === 'invalid')
    throw new OperatorFault(`${url.fault.field} ${JSON.stringify(url.fault.value)} ${url.fault.rule}`);
  const only = batchName === undefined ? null : batchIdOf(batchName);
  // A job that has joined a later run has its id from the batch that it was entered in.
  const ids = (await gate.listBatches()).flatMap((batch) =>
    METHODS.map((method) => ({
      id: urlJobId({ url: url.value.url, batch, method }) as string as JobId,
      name: `${method} ${url.value.url}`,
    })),
  );
  const told: Said[] = [];
  for (let start = 0; start < ids.length; start += LOOKS_PER_TRIP) {
    const page = ids.slice(start, start + LOOKS_PER_TRIP);
    const jobs = await Promise.all(page.map(({ id }) => gate.inspectJob(id)));
    for (const [index, job] of jobs.entries()) {
      const isMeant = job !== undefined && (only === null || job.batch === only);
      if (isMeant) told.push(await tell(gate, job, page[index]?.name ?? url.value.url));
    }
  }
  if (told.length === 0) return explainIntake(redis, deployment, url.value.url, only);
  if (told.length === 1 && told[0] !== undefined) return told[0];
  return { json: told.map(({ json }) => json), text: told.map((one) => one.text).join('\n\n') };
}

/** No batch has it: perhaps nobody has taken it yet, or it was refused. */
async function explainIntake(
  redis: Redis,
  deployment: string,
  url: string,
  batch: BatchId | null,
): Promise<Said> {
  const names = queueNames(deployment);
  const found = await findInIntake(redis, names, url);
  if (found === null) {
    const where = batch === null ? 'no batch has' : `batch ${batch} does not have`;
    throw new OperatorFault(`${where} the URL ${url}, and neither has the inbox`);
  }
  const { kind: state, ...facts } = found;
  const json = { kind: 'entry', url, state, ...facts };
  if (found.kind === 'in_the_inbox') {
    const rows = [
      ['what', url],
      ['state', pc.bold('in the inbox')],
      [
        'why',
        `entered for batch ${found.batch} at ${instant(found.atMs)}, and no scheduler has taken it yet`,
      ],
      ['next', 'a scheduler enters it; is one running? Its log and /readyz say what keeps it'],
    ] as const;
    return { json, text: fields(rows) };
  }
  const rows = [
    ['what', url],
    ['state', pc.bold('refused')],
    ['why', printable(`${found.field} ${JSON.stringify(found.value)} ${found.rule}`)],
    ['decided by', 'the inbox'],
    ['evidence', `${names.rejected}, ${instant(found.atMs)}`],
    ['next', 'nothing by itself; correct the entry and enter it again'],
  ] as const;
  return { json, text: fields(rows) };
}

async function tell(gate: Gate, job: JobSnapshot, name: string): Promise<Said> {
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
    ['why', printable(explanation.why)],
    ['until', untilOf(explanation, nowMs)],
    ['decided by', explanation.decidedBy],
    ['evidence', printable(explanation.evidence ?? '-')],
    ['next', explanation.next],
    [
      'so far',
      [
        counted(facts.attempts, 'attempt'),
        counted(facts.deferrals, 'deferral'),
        `run ${facts.run}`,
        counted(job.requests, 'request'),
        counted(job.bytes, 'byte'),
      ].join(', '),
    ],
    ['deadline', facts.deadlineMs === 0 ? 'none' : endFromNow(facts.deadlineMs, nowMs)],
  ];
  const trail = job.trail.map(
    ({ atMs, event, detail }) =>
      `  ${pc.dim(instant(atMs))}  ${event.padEnd(9)} ${printable(readableInstants(detail))}`,
  );
  const text =
    trail.length === 0
      ? fields(rows)
      : `${fields(rows)}\n\n${pc.dim('trail, newest first')}\n${trail.join('\n')}`;
  return { json: { kind: 'job', ...job, explanation }, text };
}

function untilOf({ untilMs, isEstimate }: JobExplanation, nowMs: number): string {
  if (untilMs === null || untilMs === 0) return '-';
  return isEstimate ? `${fromNow(untilMs, nowMs)}, as far as line and pace tell` : fromNow(untilMs, nowMs);
}
