import { delimiter } from 'node:path';
import type { OriginDescriptionInput } from '@holdoff/sample-origin';
import { type LocalRedis, startLocalRedis } from '@holdoff/service-runtime';
import { Fleet, type FleetOptions } from './fleet.ts';
import { OriginProcess } from './origin-process.ts';
import { type PeerReport, type PeerTask, startPeer } from './peer-process.ts';

/** Starts what a bench needs and ends all of it, also when the bench fails. */
export class Lab {
  readonly #endings: (() => Promise<void>)[] = [];

  async origin(description: OriginDescriptionInput): Promise<OriginProcess> {
    const origin = await OriginProcess.start(description);
    this.#endings.push(() => origin.stop());
    return origin;
  }

  /** A store with the settings of a real one: append-only file, fsync every second. */
  async redis(): Promise<LocalRedis> {
    const redis = await startLocalRedis({
      searchPath: process.env['PATH'] ?? delimiter,
      persistent: true,
    });
    this.#endings.push(() => redis.stop());
    return redis;
  }

  /** Runs a baseline in a process of its own. */
  peer(task: PeerTask): Promise<PeerReport> {
    const { child, report } = startPeer(task);
    this.#endings.push(() => child.stop());
    return report;
  }

  /** Scheduler and workers of the built product, on a store of their own. */
  async fleet(options: FleetOptions): Promise<Fleet> {
    const fleet = new Fleet(options, await this.redis());
    this.#endings.push(() => fleet.stop());
    await fleet.start();
    return fleet;
  }

  async stop(): Promise<void> {
    for (const end of this.#endings.splice(0).toReversed()) await end();
  }
}
