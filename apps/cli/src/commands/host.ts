import { Command } from 'commander';
import type { Gate, HostKey, HostSnapshot, JobId, PaceOverride } from '@holdoff/throttle-core';
import { openUrlQueue, promoteCalled, queueNames } from '@holdoff/url-job';
import { Redis } from 'ioredis';
import { describeHost } from '../operator/describe-host.ts';
import {
  hostKeyOf,
  operatorCommand,
  type OperatorFlags,
  OperatorFault,
  withFleet,
} from '../operator/operator-command.ts';
import { scopesOf } from '../operator/scopes-of.ts';

interface PauseFlags extends OperatorFlags {
  readonly reason: string;
  readonly by: string;
}

interface PaceFlags extends OperatorFlags {
  readonly rate?: string;
  readonly ceiling?: string;
  readonly floor?: string;
  readonly reset?: boolean;
  readonly off?: boolean;
  readonly none?: boolean;
}

/** `holdoff host`: look at a host, pause it, let it go on, reset its circuit, override its pace. */
export function hostCommand(): Command {
  return new Command('host')
    .summary('look at a host, pause it, let it go on')
    .description('Look at a host, pause it, let it go on, reset its circuit, or override its learned pace.')
    .addCommand(
      operatorCommand('show', 'show what the fleet knows about a host')
        .argument('<host>')
        .addHelpText('after', '\nExample:\n  holdoff host show shop.example')
        .action((host: string, flags: OperatorFlags) => about(flags, host, known)),
    )
    .addCommand(
      operatorCommand('pause', 'hold a host: nothing is sent to it until it is resumed')
        .argument('<host>')
        .addHelpText(
          'after',
          "\nExample:\n  holdoff host pause shop.example --reason 'their maintenance' --by ann",
        )
        .option('--reason <text>', 'why, for those who look', 'paused by its owner')
        .option('--by <name>', 'who decided', 'operator')
        .action((host: string, flags: PauseFlags) =>
          about(flags, host, (gate, key) => gate.hold(key, flags.reason, flags.by)),
        ),
    )
    .addCommand(
      operatorCommand('resume', 'let a held host go on; cooldown and circuit stay what they are')
        .argument('<host>')
        .addHelpText('after', '\nExample:\n  holdoff host resume shop.example')
        .action((host: string, flags: OperatorFlags) =>
          about(flags, host, (gate, key, url) => reopen(url, flags.deployment, () => gate.resume(key))),
        ),
    )
    .addCommand(
      operatorCommand('reset', 'close the circuit of a host; its cooldown stays')
        .argument('<host>')
        .addHelpText('after', '\nExample:\n  holdoff host reset shop.example')
        .action((host: string, flags: OperatorFlags) =>
          about(flags, host, (gate, key, url) => reopen(url, flags.deployment, () => gate.resetCircuit(key))),
        ),
    )
    .addCommand(paceCommand());
}

function about(
  flags: OperatorFlags,
  host: string,
  work: (gate: Gate, key: HostKey, url: string) => Promise<HostSnapshot>,
): Promise<void> {
  return withFleet('host', flags, async (store) => {
    const scopes = await scopesOf(store, flags.deployment, hostKeyOf(host));
    const told: HostSnapshot[] = [];
    const faults: OperatorFault[] = [];
    for (const scope of scopes) {
      try {
        told.push(await work(store.gate, scope, store.url));
      } catch (error) {
        // An exit that nobody has used yet is unknown; a fault in all of them is one.
        if (!(error instanceof OperatorFault || error instanceof RangeError)) throw error;
        faults.push(new OperatorFault(error.message));
      }
    }
    const [first] = told;
    if (first === undefined) throw faults[0] ?? new OperatorFault(`the fleet knows no host ${host}`);
    return { json: told.length === 1 ? first : told, text: told.map(describeHost).join('\n\n') };
  });
}

function paceCommand(): Command {
  return operatorCommand('pace', 'override the learned pace of a host')
    .argument('<host>')
    .addHelpText(
      'after',
      '\nExamples:\n  holdoff host pace shop.example --rate 2\n  holdoff host pace shop.example --none',
    )
    .option('--rate <per-second>', 'fix the rate')
    .option('--ceiling <per-second>', 'learn, but never faster')
    .option('--floor <per-second>', 'learn, but never slower')
    .option('--reset', 'forget what was learned')
    .option('--off', 'learn nothing and limit nothing')
    .option('--none', 'take the override back')
    .action((host: string, flags: PaceFlags) =>
      about(flags, host, (gate, key) => gate.setPaceOverride(key, overrideOf(flags))),
    );
}

function overrideOf(flags: PaceFlags): PaceOverride {
  const given = [flags.rate, flags.ceiling ?? flags.floor, flags.reset, flags.off, flags.none].filter(
    (flag) => flag !== undefined,
  );
  if (given.length !== 1)
    throw new OperatorFault('say one of --rate, --ceiling and --floor, --reset, --off, --none');
  if (flags.rate !== undefined) return { kind: 'fixed', intervalMs: intervalOf('--rate', flags.rate) };
  if (flags.reset === true) return { kind: 'reset' };
  if (flags.off === true) return { kind: 'off' };
  if (flags.none === true) return { kind: 'none' };
  const floorIntervalMs = flags.floor === undefined ? null : intervalOf('--floor', flags.floor);
  const ceilingIntervalMs = flags.ceiling === undefined ? null : intervalOf('--ceiling', flags.ceiling);
  if (floorIntervalMs !== null && ceilingIntervalMs !== null && floorIntervalMs < ceilingIntervalMs)
    throw new OperatorFault('--floor must not be faster than --ceiling');
  return { kind: 'bounds', floorIntervalMs, ceilingIntervalMs };
}

function intervalOf(name: string, text: string): number {
  const rate = Number(text);
  if (Number.isFinite(rate) && rate >= 0.001 && rate <= 1_000) return 1_000 / rate;
  throw new OperatorFault(
    `${name} must be a rate from 0.001 to 1000 per second, not ${JSON.stringify(text)}`,
  );
}

async function known(gate: Gate, key: HostKey): Promise<HostSnapshot> {
  const snapshot = await gate.inspectHost(key);
  if (snapshot === undefined) throw new OperatorFault(`the fleet knows no host ${key}`);
  return snapshot;
}

/** Calls the jobs that may go now; without it they would go at the fleet's next look. */
async function reopen(
  url: string,
  deployment: string,
  open: () => Promise<{ readonly host: HostSnapshot; readonly call: readonly JobId[] }>,
): Promise<HostSnapshot> {
  const { host, call } = await open();
  if (call.length === 0) return host;
  const redis = new Redis(url, { maxRetriesPerRequest: 1 });
  redis.on('error', () => undefined);
  const queue = openUrlQueue(redis, queueNames(deployment));
  queue.on('error', () => undefined);
  try {
    await promoteCalled(queue, call);
  } catch {
    // The host is open already, and the fleet calls again within seconds what did not show up.
  } finally {
    await queue.close();
    redis.disconnect();
  }
  return host;
}
