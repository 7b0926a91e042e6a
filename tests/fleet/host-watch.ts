import type { Gate } from '@holdoff/throttle-core';
import type { Fleet } from '../story/fleet.ts';

/** What Redis held of a host at one instant of its own clock. */
export interface HostSample {
  readonly host: string;
  readonly atMs: number;
  readonly cooldownUntilMs: number;
  readonly leases: number;
}

const LOOK_EVERY_MS = 20;

/** Looks at hosts again and again, so that a judge knows what was written before an admission. */
export class HostWatch {
  readonly samples: HostSample[] = [];
  readonly #gate: Gate;
  readonly #hosts: readonly (readonly [name: string, key: ReturnType<Fleet['hostKey']>])[];
  #running: Promise<void> | undefined;
  #over = false;

  constructor(fleet: Fleet, names: readonly string[]) {
    this.#gate = fleet.gate;
    this.#hosts = names.map((name) => [name, fleet.hostKey(name)]);
    this.#running = this.#run();
  }

  async stop(): Promise<readonly HostSample[]> {
    this.#over = true;
    await this.#running;
    return this.samples;
  }

  async #run(): Promise<void> {
    while (!this.#over) {
      for (const [host, key] of this.#hosts) {
        // While Redis is away nothing can be learned, and nothing may be admitted.
        const seen = await this.#gate.inspectHost(key).catch(() => undefined);
        if (seen === undefined) continue;
        const { nowMs: atMs, cooldownUntilMs, leases } = seen;
        this.samples.push({ host, atMs, cooldownUntilMs, leases: leases.length });
      }
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    }
  }
}
