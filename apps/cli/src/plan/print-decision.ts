import { explainReason } from '@holdoff/throttle-core';
import { printDuration } from '@holdoff/throttle-core/policy-file';
import pc from 'picocolors';
import { type Decision, type DecisionName, isoOf, waitSecondsOf } from './decide-case.ts';

type Colors = ReturnType<typeof pc.createColors>;

const LABEL_WIDTH = 12;
const LINE_WIDTH = 78;

/** The decision for people: the name first, then why, then what it was decided from. */
export function printDecision(decision: Decision, isColored: boolean): string {
  const colors = pc.createColors(isColored);
  const lines = [headline(decision, colors), ''];
  for (const [label, text] of rowsOf(decision)) lines.push(...row(label, text, colors));
  return `${lines.join('\n')}\n`;
}

function headline(decision: Decision, colors: Colors): string {
  const { name, plan } = decision;
  const paint = paintOf(name, colors);
  const detail = plan.jobEffect.kind === 'stop' ? plan.jobEffect.reason : waitText(decision);
  return colors.bold(paint(name)) + (detail === '' ? '' : `  ${detail}`);
}

function paintOf(name: DecisionName, colors: Colors): (text: string) => string {
  switch (name) {
    case 'DONE':
    case 'FOLLOW_REDIRECT':
      return colors.green;
    case 'WAIT_THEN_RECHECK':
    case 'GIVE_BACK':
      return colors.yellow;
    case 'STOP':
    case 'HOLD':
      return colors.red;
  }
}

function waitText(decision: Decision): string {
  const seconds = waitSecondsOf(decision);
  if (seconds === null || decision.name === 'HOLD') return '';
  const { slackMs } = decision.plan;
  return `wait ${seconds} s${slackMs === null ? '' : `, slack ${slackMs / 1000} s`}`;
}

function rowsOf(decision: Decision): (readonly [string, string])[] {
  const { plan, nowMs } = decision;
  const rows: (readonly [string, string])[] = [['why', explainReason(plan.reason)]];
  if (plan.notBeforeMs !== null) rows.push(['not before', isoOf(plan.notBeforeMs)]);
  const job = jobText(decision);
  if (job !== '') rows.push(['job', job]);
  rows.push(['host', hostText(decision)], ['', '']);
  rows.push(['seen', seenText(decision)], ['facts', factsText(decision)]);
  rows.push(['policy', decision.policyName], ['at', isoOf(nowMs)]);
  return rows;
}

function jobText({ plan: { jobEffect } }: Decision): string {
  switch (jobEffect.kind) {
    case 'retry_at':
      return jobEffect.inPlace
        ? 'another attempt of this run; its host slot stays reserved'
        : 'another attempt of this run; its host slot goes to others';
    case 'defer':
      return 'the next run, same id; costs no attempt and no token';
    case 'hold':
      return "parked until the host's owner resumes it";
    case 'continue':
      return 'the attempt goes on at the gate of the next host';
    case 'release':
      return 'waits as before; the attempt stays counted';
    case 'done':
    case 'stop':
      return '';
  }
}

function hostText({ plan: { hostEffect }, nowMs }: Decision): string {
  const parts: string[] = [];
  if (hostEffect.cooldownUntilMs > 0) {
    parts.push(`no request of the fleet for ${(hostEffect.cooldownUntilMs - nowMs) / 1000} s`);
  }
  if (hostEffect.hold !== null) parts.push(`held for its owner: ${hostEffect.hold.reason}`);
  if (hostEffect.noHint) parts.push('counted as an event without a usable wait');
  if (hostEffect.rateLimit !== null) {
    const { remaining, windowMs } = hostEffect.rateLimit;
    parts.push(`at most ${remaining} requests in ${windowMs / 1000} s`);
  }
  return parts.length === 0 ? 'nothing is learned' : parts.join('; ');
}

function seenText({ case: asked, outcome, wait, policy }: Decision): string {
  const waits = {
    absent: 'no wait named',
    malformed: `a wait that cannot be read (${policy.retryAfter.parse})`,
    delay: wait.kind === 'delay' ? `${wait.source}: ${wait.seconds} s (${policy.retryAfter.parse})` : '',
  }[wait.kind];
  return `${asked.method}: ${outcome.detail} (${outcome.class}); ${waits}`;
}

function factsText({ case: asked, policy }: Decision): string {
  const lifeMs = asked.deadline === undefined ? policy.deadline.jobMs : asked.deadline;
  const { totalMax } = policy.attempts;
  return [
    `attempt ${asked.attempts}${totalMax === null ? '' : ` of ${totalMax}`}`,
    lifeMs === null
      ? `${printDuration(asked.elapsed)} old, no deadline`
      : `${printDuration(asked.elapsed)} of ${printDuration(lifeMs)} used`,
    `next attempt up to ${printDuration(policy.deadline.attemptMs)}`,
    tokensText('batch', asked.tokens),
    tokensText('host', asked.hostTokens),
    `draw ${asked.draw}`,
  ].join(', ');
}

function tokensText(bucket: string, left: number | null): string {
  return left === null ? `${bucket} tokens off` : `${left} ${bucket} tokens`;
}

/** A label and its text, wrapped under itself so that it stays readable in 80 columns. */
function row(label: string, text: string, colors: Colors): string[] {
  const wrapped = wrap(text, LINE_WIDTH - LABEL_WIDTH - 2);
  return wrapped.map((part, index) =>
    `  ${colors.dim((index === 0 ? label : '').padEnd(LABEL_WIDTH))}${part}`.trimEnd(),
  );
}

function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + word.length + 1 > width) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line];
}
