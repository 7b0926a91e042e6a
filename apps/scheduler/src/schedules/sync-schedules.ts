import type { Schedule } from '@holdoff/url-job/schedule-file';
import { FIRE_OPTIONS, type FiringData, type ScheduleQueue } from './schedule-queue.ts';

/**
 * Makes the queue's job schedulers those of the file. One that is as it should be is left alone: to set it again would
 * drop a firing that is due and not taken yet. For the same reason a changed one that is due keeps its old form until
 * it has fired. Any number of schedulers with the same file may do this at once.
 *
 * Resolves to the names that could not be set yet: call again.
 */
export async function syncSchedules(
  queue: ScheduleQueue,
  schedules: readonly Schedule[],
  folder: string,
  nowMs: number,
): Promise<readonly string[]> {
  const names = new Set(schedules.map(({ name }) => name));
  for (const { key } of await queue.getJobSchedulers()) {
    if (!names.has(key)) await queue.removeJobScheduler(key);
  }
  const pending: string[] = [];
  for (const schedule of schedules) {
    if (!(await setSchedule(queue, schedule, { schedule, folder }, nowMs))) pending.push(schedule.name);
  }
  return pending;
}

async function setSchedule(
  queue: ScheduleQueue,
  { name, cron, zone }: Schedule,
  data: FiringData,
  nowMs: number,
): Promise<boolean> {
  const known = await queue.getJobScheduler(name);
  if (known?.next !== undefined) {
    const isThere = (await queue.getJob(`repeat:${name}:${known.next}`)) !== undefined;
    const isSame =
      known.pattern === cron &&
      known.tz === zone &&
      JSON.stringify(known.template?.data) === JSON.stringify(data);
    if (isThere && isSame) return true;
    if (isThere && known.next <= nowMs) return false;
  }
  try {
    await queue.upsertJobScheduler(
      name,
      { pattern: cron, tz: zone },
      { name: 'fire', data, opts: FIRE_OPTIONS },
    );
    return true;
  } catch (error) {
    // The firing of this instant is being worked on; it makes way for the next one.
    if (error instanceof Error && /collision|already exist|busy/i.test(error.message)) return false;
    throw error;
  }
}
