import { createVirtualHost } from '@holdoff/sample-origin';
import { resolvePolicy } from '@holdoff/throttle-core/policy-file';
import {
  EPOCH_MS,
  type SendObserver,
  type SimulationResult,
  seededRandom,
  simulate,
} from '@holdoff/throttle-core/simulate';
import type { ScenarioFile } from './scenario-file.ts';

/** The origin draws from a stream of its own: a policy that asks for more jitter meets the same server. */
const ORIGIN_STREAM = 0x9e3779b9;

export function playScenario(file: ScenarioFile, onSend?: SendObserver): SimulationResult {
  const draw = seededRandom(file.seed ^ ORIGIN_STREAM);
  const scenario = {
    hosts: file.origin.hosts.map((host) => {
      const own = file.hosts[host.name];
      return {
        name: host.name,
        urls: own?.urls ?? file.urls,
        learnedPerSecond: own?.learnedPerSecond === undefined ? file.learnedPerSecond : own.learnedPerSecond,
        policy: resolvePolicy(file.policy, host.name).policy,
        origin: createVirtualHost(host, { draw, epochMs: EPOCH_MS }),
      };
    }),
    fleet: file.fleet,
    tokens: file.tokens,
    untilMs: file.untilMs,
    random01: seededRandom(file.seed),
  };
  return simulate(scenario, onSend);
}
