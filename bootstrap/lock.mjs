import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Failure, say } from './say.mjs';
import { at } from './workspace.mjs';

const WAIT_MS_MAX = 15 * 60_000;
const LOOK_EVERY_MS = 200;
const SETTLE_MS = 20;

/** One bootstrap at a time writes to a checkout; a second `npm start` beside it waits and finds the work done. */
export async function withLock(work) {
  const path = at('.tools/.lock');
  mkdirSync(at('.tools'), { recursive: true });
  const giveUpAtMs = performance.now() + WAIT_MS_MAX;
  let told = false;
  while (!(await take(path))) {
    if (performance.now() > giveUpAtMs) {
      throw new Failure(`another run has been preparing this checkout for ${WAIT_MS_MAX / 60_000} minutes.`, {
        advice: `If none is running, delete ${path} and try again.`,
      });
    }
    if (!told) say('… waiting for another run that prepares this checkout');
    told = true;
    await sleep(LOOK_EVERY_MS);
  }
  const free = () => {
    if (isOurs(path)) rmSync(path, { force: true });
  };
  process.once('exit', free);
  try {
    return await work();
  } finally {
    process.off('exit', free);
    free();
  }
}

/** The file holds its owner's process id; one whose owner is gone is nobody's. */
async function take(path) {
  try {
    writeFileSync(path, String(process.pid), { flag: 'wx' });
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
    if (!ownerLives(path)) rmSync(path, { force: true });
    return false;
  }
  // Another waiter may have judged the same dead owner and removed our fresh file in its place.
  await sleep(SETTLE_MS);
  return isOurs(path);
}

function isOurs(path) {
  try {
    return readFileSync(path, 'utf8') === String(process.pid);
  } catch {
    return false;
  }
}

function ownerLives(path) {
  try {
    const pid = Number(readFileSync(path, 'utf8'));
    // Just created and not yet written: somebody is there.
    if (!Number.isInteger(pid) || pid <= 0) return true;
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}
