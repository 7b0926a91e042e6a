import { text } from 'node:stream/consumers';
import type { PeerName, PeerReport, PeerTask } from '../harness/peer-process.ts';
import { bullmqGot, bullmqPause } from './bullmq-peers.ts';
import { gotBackoff, gotRetryAfter, plainGot } from './got-peers.ts';
import { type Peer, Tally } from './peer.ts';
import { plainUndici } from './undici-peer.ts';

const PEERS: Readonly<Record<PeerName, Peer>> = {
  undici: plainUndici,
  got: plainGot,
  'got-retry-after': gotRetryAfter,
  'got-backoff': gotBackoff,
  'bullmq-got': bullmqGot,
  'bullmq-pause': bullmqPause,
};

const task = JSON.parse(await text(process.stdin)) as PeerTask;
const tally = new Tally(task.urls.length);
const budget = new AbortController();
let startedMs = 0;
let cpuBefore = process.cpuUsage();
let timer: NodeJS.Timeout | undefined;

await PEERS[task.peer]({
  urls: task.urls,
  slots: task.slots,
  signal: budget.signal,
  redisUrl: task.redisUrl ?? '',
  tally,
  begin: () => {
    startedMs = performance.now();
    cpuBefore = process.cpuUsage();
    timer = setTimeout(() => budget.abort(), task.budgetMs);
  },
});
clearTimeout(timer);

const cpu = process.cpuUsage(cpuBefore);
const report: PeerReport = {
  served: tally.served,
  lost: tally.lost,
  unfinished: tally.unfinished,
  seconds: (performance.now() - startedMs) / 1000,
  cpuSeconds: (cpu.user + cpu.system) / 1e6,
  rssBytes: process.memoryUsage.rss(),
};
process.stdout.write(`${JSON.stringify(report)}\n`, () => process.exit(0));
