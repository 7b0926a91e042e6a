import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { BatchDefaults, BatchId, JobId } from '@holdoff/throttle-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Fleet, startFleet } from './fleet.ts';

/** `holdoff explain` for a job in every state that a job can be in, each made by a real fleet and a real server. */
const run = promisify(execFile);
const status = (code: number, retryAfterSeconds?: number) => ({
  kind: 'status' as const,
  status: code,
  ...(retryAfterSeconds === undefined ? {} : { retryAfterSeconds }),
});
const always = (path: string, answer: ReturnType<typeof status>) => ({ path, answer });
const POLICY = `
preset: balanced
attempt_budget: 4s
attempts: { max_total: 2 }
backoff: { base: 10ms, cap: 20ms }
pace: { learn: { start: 100/s } }
hosts:
  HOST:open: { circuit: { responses: 2 } }
  HOST:slow: { concurrency: 1, attempt_budget: 60s }
  HOST:pace: { pace: { interval: 120s } }
  HOST:again: { attempts: { max_429_per_run: 0 } }
  HOST:enough: { attempts: { max_429_per_run: 0 }, defer: { max_count: 0 } }
  HOST:garbled: { retry_after: { on_absent: stop } }
  HOST:huge: { body: { wire_max: 1KiB, decoded_max: 1KiB } }
  HOST:text: { body: { content_types: [text/plain] } }
  HOST:proxied: { proxy: dead }
`;
const DEFAULTS: BatchDefaults = {
  tokens: { kind: 'fixed', total: 10 },
  approved: true,
  owner: 'ann',
  deadlineMs: 0,
  spend: { bytesMax: 0, requestsMax: 0, costMicrosMax: 0 },
};

let fleet: Fleet;
let folder = '';
const url = (host: string, path: string): string => fleet.url(host, path);
const batch = (name: string, over: Partial<BatchDefaults>): Promise<unknown> =>
  fleet.gate.createBatch({ batch: name as BatchId, defaults: { ...DEFAULTS, ...over } });

async function holdoff(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const command = ['--enable-source-maps', 'apps/cli/dist/main.js', ...args, '--redis', fleet.redis.url];
  try {
    return { code: 0, ...(await run(process.execPath, command, { env: { ...process.env, NO_COLOR: '1' } })) };
  } catch (error) {
    return error as { code: number; stdout: string; stderr: string };
  }
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdoff-explain-'));
  const pools = { dead: { proxies: [{ name: 'dead', url: 'http://127.0.0.1:9' }] } };
  await writeFile(join(folder, 'proxies.json'), JSON.stringify(pools));
  fleet = await startFleet({
    policy: POLICY,
    environment: { PROXIES_FILE: join(folder, 'proxies.json'), SHUTDOWN_GRACE_MS: '200' },
    hosts: [
      {
        name: 'site',
        rules: [always('/404', status(404)), always('/401', status(401)), always('/503*', status(503))],
      },
      { name: 'cool', rules: [always('/p*', status(429, 250))] },
      { name: 'away', rules: [always('/p*', status(429, 900))] },
      { name: 'again', rules: [always('/p*', status(429, 1))] },
      { name: 'enough', rules: [always('/p*', status(429, 1))] },
      { name: 'garbled', rules: [always('/p*', status(429))] },
      { name: 'long', rules: [always('/p*', status(429, 7_200))] },
      { name: 'open', rules: [always('/p*', status(429, 1))] },
      { name: 'slow', rules: [{ path: '/p*', answer: { kind: 'never' } }] },
      { name: 'held' },
      { name: 'pace' },
      { name: 'proxied' },
      { name: 'huge', page: { bytes: 5_000 } },
      { name: 'text' },
      { name: 'robots', robots: 'User-agent: *\nDisallow: /' },
      {
        name: 'hop',
        rules: [
          { path: '/go', answer: { kind: 'redirect', toHost: 'held', toPath: '/landing' } },
          { path: '/loop*', answer: { kind: 'redirect', loop: true } },
        ],
      },
    ],
  });
  await fleet.gate.hold(fleet.hostKey('held'), 'their maintenance', 'ann');
  await batch('unapproved', { approved: false });
  await batch('broke', { tokens: { kind: 'fixed', total: 0 } });
  await batch('spent', { spend: { bytesMax: 0, requestsMax: 1, costMicrosMax: 0 } });
  const paths = (count: number): string[] => Array.from({ length: count }, (_, n) => `/p${n}`);
  const all = (host: string, names: readonly string[]): string[] => names.map((path) => url(host, path));
  await fleet.enqueue('b', [
    ...all('site', ['/fine', '/404', '/401', '/503']),
    ...all('cool', ['/p0']),
    ...all('away', ['/p0']),
    ...all('again', ['/p0', '/p-joins']),
    ...all('enough', ['/p0']),
    ...all('garbled', ['/p0']),
    ...all('long', ['/p0']),
    ...all('slow', ['/p0']),
    ...all('held', ['/p0']),
    ...all('pace', ['/p0']),
    ...all('open', paths(8)),
    ...all('proxied', paths(8)),
    ...all('hop', ['/go', '/loop']),
    ...all('huge', ['/p0']),
    ...all('text', ['/p0']),
    ...all('robots', ['/p0']),
    'http://10.0.0.1/',
  ]);
  await fleet.enqueue('soon', [url('cool', '/p-soon')], { deadline: '+100s' });
  await fleet.enqueue('broke', [url('site', '/503/broke')]);
  await fleet.enqueue('spent', [url('site', '/a')]);
  await fleet.ended('spent', 1);
  await fleet.enqueue('spent', [url('site', '/b')]);
  await fleet.enqueue('unapproved', [url('held', '/unapproved'), url('site', '/unapproved')]);
  await fleet.enqueue('cancelled', [url('held', '/cancelled')]);
  await fleet.enqueue('refused', [url('site', '/refused')], { priority: '101' });
  await waitsFor('long', '/p0', 'held');
  await fleet.enqueue('late', [url('cool', '/p-late'), url('slow', '/p-late'), url('pace', '/p-late')]);
  await waitsFor('again', '/p-joins', 'not_before');
  await batch('next', {});
  const joined = await fleet.gate.joinRun({
    job: jobOf('b', 'again', '/p-joins'),
    from: 'b' as BatchId,
    to: 'next' as BatchId,
  });
  if (joined !== 'joined') throw new Error(`it did not join: ${joined}`);
  await fleet.until('it is in', () => fleet.gate.inspectJob(jobOf('cancelled', 'held', '/cancelled')));
  await fleet.gate.cancelBatch('cancelled' as BatchId, 'ann');
  await waitsFor('hop', '/go', 'held');
  await Promise.all(
    [
      ['late', 'cool'],
      ['late', 'slow'],
      ['late', 'pace'],
    ].map(([name = '', host = '']) =>
      fleet.until(`${host} waits`, async () =>
        (await fleet.gate.inspectJob(jobOf(name, host, '/p-late')))?.waiting === null ? undefined : true,
      ),
    ),
  );
}, 180_000);
afterAll(async () => {
  await fleet?.stop();
  await rm(folder, { recursive: true, force: true });
});

function jobOf(name: string, host: string, path: string): JobId {
  return fleet.jobId(name, url(host, path)) as JobId;
}

async function waitsFor(host: string, path: string, cause: string): Promise<void> {
  await fleet
    .until(`${host}${path} waits: ${cause}`, async () => {
      const job = await fleet.gate.inspectJob(jobOf('b', host, path));
      return job?.waiting?.cause === cause ? true : undefined;
    })
    .catch(async () => {
      throw new Error((await holdoff('explain', url(host, path))).stdout);
    });
}

interface Explained {
  readonly explanation: {
    readonly state: string;
    readonly why: string;
    readonly untilMs: number | null;
    readonly decidedBy: string;
    readonly evidence: string | null;
    readonly next: string;
  };
}

interface Row {
  readonly at: readonly [host: string, path: string];
  readonly state?: string;
  readonly why: RegExp;
  /** Seconds from now, at least and at most; absent: none. */
  readonly within?: readonly [number, number];
  readonly by: string;
  readonly evidence: RegExp;
  readonly next: RegExp;
}

const ISO = '\\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z';
const ASKS = /it asks for admission then/;

test.each<[string, Row]>([
  [
    'a slot',
    {
      at: ['slow', '/p-late'],
      why: /all slots of \S+ are taken/,
      by: 'policy',
      evidence: /./,
      next: /called when a slot is free/,
    },
  ],
  [
    'a request in flight',
    {
      at: ['slow', '/p0'],
      state: 'working',
      why: /its request is out/,
      by: 'fleet',
      evidence: /admitted: attempt 1/,
      next: /settled/,
    },
  ],
  [
    'the pace',
    {
      at: ['pace', '/p0'],
      why: /the pace of \S+ is one request per 120\.0 s, 1\. in the line/,
      within: [30, 121],
      by: 'fleet',
      evidence: /wait: pace until|entered/,
      next: /called when its instant comes/,
    },
  ],
  [
    'a wait of its own after a 429',
    {
      at: ['cool', '/p0'],
      why: /sent again, and not before then/,
      within: [150, 330],
      by: 'server',
      evidence: /429.*retry-after: 250 s.*policy v1/,
      next: ASKS,
    },
  ],
  [
    'the cooldown that another job met',
    {
      at: ['cool', '/p-late'],
      why: /the server asked the whole fleet to wait, 1\. in the line/,
      within: [150, 330],
      by: 'server',
      evidence: new RegExp(`^${ISO} .*429.*retry-after: 250 s.*policy v1`),
      next: /one request, then through a ramp/,
    },
  ],
  [
    'a deferral by a long wait',
    {
      at: ['away', '/p0'],
      why: /was deferred: its run is over/,
      within: [800, 1_200],
      by: 'server',
      evidence: /defer: .*429.*900 s; the wait is too long for this run/,
      next: /joins that under its id/,
    },
  ],
  [
    'a deferral by too many 429s',
    {
      at: ['again', '/p0'],
      why: /was deferred: its run is over/,
      within: [3_400, 3_700],
      by: 'policy',
      evidence: /too many 429s in this run; the next run begins then/,
      next: /joins that under its id/,
    },
  ],
  [
    'one that joined the next run',
    {
      at: ['again', '/p-joins'],
      why: /has joined the run next/,
      within: [3_400, 3_700],
      by: 'fleet',
      evidence: /joined: run next, from b/,
      next: ASKS,
    },
  ],
  [
    'an open circuit',
    {
      at: ['open', '/p7'],
      why: /the circuit of \S+ is open, \d+\. in the line/,
      within: [500, 610],
      by: 'policy',
      evidence: /429/,
      next: /one probe is sent/,
    },
  ],
  [
    'a hold by the owner',
    {
      at: ['held', '/p0'],
      why: /the host is held: their maintenance, \d+\. in the line/,
      by: 'owner',
      evidence: new RegExp(`^${ISO} held by ann`),
      next: /holdoff host resume/,
    },
  ],
  [
    'a hold by the policy',
    {
      at: ['long', '/p0'],
      why: /the host is held: .*, 1\. in the line/,
      by: 'policy',
      evidence: /held by policy; .*429.*7200 s/,
      next: /holdoff host resume/,
    },
  ],
  [
    'a redirect to a held host',
    {
      at: ['hop', '/go'],
      why: /\S+, to which it was redirected, is held: their maintenance/,
      by: 'owner',
      evidence: /held by ann/,
      next: /holdoff host resume/,
    },
  ],
  [
    'a proxy that is left alone',
    {
      at: ['proxied', '/p7'],
      why: /its proxy dead fails and is left alone, .*ECONNREFUSED/,
      within: [-60, 120],
      by: 'policy',
      evidence: /ECONNREFUSED/,
      next: /one request tries it/,
    },
  ],
  [
    'a batch that is not approved',
    {
      at: ['held', '/unapproved'],
      why: /the batch is not approved/,
      by: 'owner',
      evidence: /./,
      next: /holdoff batch approve unapproved/,
    },
  ],
  [
    'done',
    {
      at: ['site', '/fine'],
      state: 'done',
      why: /the page was delivered/,
      by: 'server',
      evidence: /ended: .*200/,
      next: /^nothing$/,
    },
  ],
  ...(
    [
      ['permanent', ['site', '/404'], 'server', /404/],
      ['blocked', ['site', '/401'], 'server', /401/],
      ['attempts', ['site', '/503'], 'policy', /503|refused before it was sent/],
      ['deadline', ['cool', '/p-soon'], 'policy', /deadline/],
      ['retry_budget', ['site', '/503/broke'], 'policy', /no retry token left/],
      ['spend', ['site', '/b'], 'owner', /spend/],
      ['not_approved', ['site', '/unapproved'], 'owner', /not_approved/],
      ['cancelled', ['held', '/cancelled'], 'owner', /cancelled/],
      ['deferrals', ['enough', '/p0'], 'policy', /429.*all 0 deferrals are used/],
      ['malformed_wait', ['garbled', '/p0'], 'policy', /429.*throttled without a wait/],
      ['too_large', ['huge', '/p0'], 'policy', /large/],
      ['bad_content', ['text', '/p0'], 'server', /text\/html/],
      ['robots', ['robots', '/p0'], 'server', /robots\.txt/],
      ['redirect_loop', ['hop', '/loop'], 'server', /30\d/],
    ] as const
  ).map(([reason, at, by, evidence]): [string, Row] => [
    `stopped as ${reason}`,
    {
      at,
      state: 'stopped',
      why: new RegExp(`^${reason}: `),
      by,
      evidence,
      next: new RegExp(`--reason ${reason} --deadline`),
    },
  ]),
])(
  'explain says of %s why, until when, by whom, on what evidence, and what comes next',
  async (_, row) => {
    const [host, path] = row.at;
    const { state = 'waiting' } = row;
    const look = async (): Promise<Explained | undefined> => {
      const said = await holdoff('explain', url(host, path), '--json');
      const told = said.code === 0 ? (JSON.parse(said.stdout) as Explained) : undefined;
      const isIt = told?.explanation.state === state && row.why.test(told.explanation.why);
      return isIt ? told : undefined;
    };
    const found = await fleet.until(`${host}${path} is explained`, look, 25_000).catch(async () => {
      throw new Error((await holdoff('explain', url(host, path))).stdout);
    });
    const { untilMs, decidedBy, evidence, next } = found.explanation;
    expect(evidence).toMatch(row.evidence);
    expect(next).toMatch(row.next);
    expect(decidedBy).toBe(row.by);
    const inSeconds = untilMs === null ? null : (untilMs - Date.now()) / 1_000;
    const [least, most] = row.within ?? [0, 0];
    const isWithin = inSeconds === null ? row.within === undefined : inSeconds > least && inSeconds < most;
    expect({ inSeconds, isWithin }).toMatchObject({ isWithin: true });
  },
  60_000,
);

test('an address that may not be fetched from is told by its URL', async () => {
  const { stdout } = await holdoff('explain', 'http://10.0.0.1/');
  expect(stdout).toMatch(/state +stopped\nwhy +address_not_allowed: /);
});

test('a URL that the inbox refused is told with field, value and rule', async () => {
  const { code, stdout } = await holdoff('explain', url('site', '/refused'));
  expect(code).toBe(0);
  expect(stdout).toMatch(/state +refused\nwhy +priority "?101"? must be a whole number from 0/);
});

test('people read the same: plural forms, instants in words, the trail', async () => {
  const { stdout } = await holdoff('explain', url('cool', '/p0'));
  expect(stdout).toMatch(/so far +1 attempt, 0 deferrals, run 1, 2 requests, \d+ bytes?/);
  expect(stdout).toMatch(/until +in \d min \d+ s \(/);
  expect(stdout).toMatch(/trail, newest first\n.*retry_at +429/);
  expect(stdout).not.toMatch(/\d{13}/);
  expect(stdout).not.toContain('\u001B');
});

test.each([
  [
    ['explain', 'http://nowhere.test/'],
    /no batch has the URL http:\/\/nowhere\.test\/, and neither has the inbox/,
  ],
  [['explain', 'http://nowhere.test/', '--batch', 'b'], /batch b does not have the URL/],
  [['explain', 'j_00000000000000000000'], /knows no job j_0/],
  [['explain', 'ftp://a.test/'], /url "ftp:\/\/a\.test\/" must/],
  [['explain', 'https://u:p@a.test/'], /url .* must/],
  [['explain', 'nobody'], /knows no host and no batch "nobody"/],
])('%j is one clear line and exit code 1', async (args, message) => {
  const { code, stderr } = await holdoff(...args);
  expect(code).toBe(1);
  expect(stderr).toMatch(message);
  expect(stderr.trimEnd().split('\n')).toHaveLength(1);
});

test.each([
  [['cool'], /host .*\nnow +the server said wait.*\n(?:.*\n)*closed last by +.*429.*retry-after: 250 s/],
  [['held'], /held +their maintenance \(by ann, since/],
])('a host %j is explained with what closed it', async ([name = ''], said) => {
  expect((await holdoff('explain', fleet.hostKey(name))).stdout).toMatch(said);
});
