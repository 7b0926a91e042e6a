import type { LeaseId } from '../../core/identifiers.ts';
import type { AdmitRequest } from '../gate.ts';

/**
 * A lease carries what its result needs: `job.order.epoch.generation.flags`, flags: n or p (probe), 1 when the pace
 * held the request back, and the first letter of the purpose. `order` counts the job's admissions.
 */
export interface LeaseParts {
  readonly epoch: number;
  readonly generation: number;
  readonly probe: boolean;
  readonly bound: boolean;
  readonly purpose: AdmitRequest['purpose'];
}

export function leaseId(job: string, order: number, parts: LeaseParts): LeaseId {
  const flags = `${parts.probe ? 'p' : 'n'}${parts.bound ? 1 : 0}${parts.purpose.slice(0, 1)}`;
  return `${job}.${order}.${parts.epoch}.${parts.generation}.${flags}` as LeaseId;
}

const FORM = /\.(\d+)\.(\d+)\.([np])([01])([ahr])$/;
const PURPOSES = { a: 'attempt', h: 'hop', r: 'robots' } as const;

export function readLeaseId(lease: string): LeaseParts {
  const [, epoch, generation, probe, bound, purpose] = FORM.exec(lease) ?? [];
  return {
    epoch: Number(epoch),
    generation: Number(generation),
    probe: probe === 'p',
    bound: bound === '1',
    purpose: PURPOSES[purpose as keyof typeof PURPOSES],
  };
}
