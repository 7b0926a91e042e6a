import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pc from 'picocolors';
import { SCENARIOS, startSampleOrigin } from '@holdoff/sample-origin';
import { parsePolicyFile } from '@holdoff/throttle-core/policy-file';
import type { ProgressView } from './progress-view.ts';
import { readRequests } from './read-requests.ts';
import { RunFault, type RunOptions } from './run-options.ts';
import { plainTable, printSummary } from './run-summary.ts';
import { runUrls } from './run-urls.ts';
import { Readable } from 'node:stream';

const SLOW_URLS = 200;
const FREE_URLS = 50;
/** A request that was admitted so soon after a 429 left the server could not know of it. */
const NOTICE_MS = 100;

export interface DemoInput {
  readonly options: RunOptions;
  readonly view: ProgressView;
  readonly signal: AbortSignal;
  readonly environment: NodeJS.ProcessEnv;
}

/**
 * A real run against a throttling web server on this machine: one host that allows 10 requests a second and
 * punishes early ones, and four that allow everything. The table at the end is what the server saw.
 */
export async function runDemo({ options, view, signal, environment }: DemoInput): Promise<number> {
  const scenario = SCENARIOS['demo'];
  if (scenario === undefined) throw new RunFault('the sample origin knows no demo');
  const origin = await startSampleOrigin({ ...scenario.origin, noticeMs: NOTICE_MS });
  const scratch = await mkdtemp(join(tmpdir(), 'holdoff-demo-'));
  try {
    const urls = [...origin.hosts].flatMap(([name, base]) =>
      Array.from(
        { length: name === 'slow' ? SLOW_URLS : FREE_URLS },
        (_, number) => `${base}/page/${number + 1}`,
      ),
    );
    if (!options.json) view.say(`${pc.bold('Sample run')}: ${urls.length} URLs of ${scenario.about}.`);
    const parsed = parsePolicyFile('', 'balanced preset');
    if (parsed.kind === 'invalid') throw new RunFault('the balanced preset is not valid');
    const requests = await readRequests(['-'], Readable.from([urls.join('\n')]), parsed.file, Date.now());
    const { summary, ended } = await runUrls({
      options: {
        ...options,
        resultsDir: join(scratch, 'results'),
        dataDir: join(scratch, 'data'),
        allowNetworks: ['127.0.0.0/8'],
        traceHeaders: true,
      },
      requests,
      view,
      environment,
      signal,
    });
    view.close();
    const stats = origin.stats();
    if (options.json) process.stdout.write(`${JSON.stringify({ ...summary, origin: stats.hosts })}\n`);
    else
      process.stdout.write(
        `\n${printSummary(summary, false)}\n\n${originTable(stats.hosts)}\n\n${notes(stats.hosts).join('\n')}\n`,
      );
    return ended ? 0 : 130;
  } finally {
    await origin.stop();
    await rm(scratch, { recursive: true, force: true });
  }
}

type HostStats = ReturnType<Awaited<ReturnType<typeof startSampleOrigin>>['stats']>['hosts'][number];

function originTable(hosts: readonly HostStats[]): string {
  const table = plainTable([
    'what the server saw',
    'requests',
    '429s',
    'inside a cooldown',
    'served/s',
    'limit/s',
    'of the limit',
  ]);
  for (const host of hosts) {
    const share = host.goodputShare === null ? '' : `${Math.round(host.goodputShare * 100)} %`;
    table.push([
      `${host.host} (${new URL(host.url).hostname})`,
      String(host.requests),
      String(host.throttled429),
      String(host.inCooldown.admitted),
      host.goodputPerSecond?.toFixed(1) ?? '-',
      host.limitPerSecond === null ? 'none' : String(host.limitPerSecond),
      share,
    ]);
  }
  return table.toString();
}

function notes(hosts: readonly HostStats[]): string[] {
  const early = hosts.reduce((sum, { inCooldown }) => sum + inCooldown.admitted, 0);
  const late = hosts.reduce((sum, { inCooldown }) => sum + inCooldown.afterNotice, 0);
  const lines =
    early === 0
      ? []
      : [
          `inside a cooldown: ${early - late} sent within ${NOTICE_MS} ms of the 429, while it was on its way; ${late} later`,
        ];
  return [
    ...lines,
    'The pages of the sample run are thrown away; npm start -- urls.txt keeps those of your list.',
  ];
}
