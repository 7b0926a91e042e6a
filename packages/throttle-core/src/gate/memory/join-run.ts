import type { JoinRunReply, JoinRunRequest } from '../join-run.ts';
import { type MemoryState, addTrail } from './memory-state.ts';

/** `redis/scripts/join-run.lua` is the twin. */
export function joinRun(
  state: MemoryState,
  { job: id, from, to }: JoinRunRequest,
  nowMs: number,
): JoinRunReply {
  const job = state.jobs.get(id);
  if (job === undefined || job.end !== null) return 'no';
  if (job.batch === to) return 'already';
  if (job.batch !== from || !job.awaitsRun || job.lease !== '') return 'no';
  const left = state.batches.get(from);
  const joined = state.batches.get(to);
  if (left === undefined || joined === undefined || left.cancelled || joined.cancelled) return 'no';
  left.away -= 1;
  left.moved += 1;
  joined.jobs += 1;
  Object.assign(job, { batch: to, awaitsRun: false, isFresh: true, tokensSpent: 0 });
  addTrail(job, nowMs, 'joined', `run ${to}, from ${from}`);
  return 'joined';
}
