// What the bootstrap tells the user. All of it goes to standard error: standard output belongs to the command that
// is started (`npm start -- --json | tail -1`).

/** An end that the user can do something about: one line on what is wrong, one on what to do. */
export class Failure extends Error {
  /** @param {string} message @param {{ advice?: string, detail?: string, exitCode?: number }} [more] */
  constructor(message, { advice = '', detail = '', exitCode = 1 } = {}) {
    super(message);
    this.advice = advice;
    this.detail = detail;
    this.exitCode = exitCode;
  }
}

export function say(line) {
  process.stderr.write(`${line}\n`);
}

export function seconds(fromMs) {
  return `${((performance.now() - fromMs) / 1000).toFixed(1)} s`;
}

/** Does `work` and leaves one line with its time; on a terminal the line is there while it lasts. */
export async function timed(title, work) {
  const fromMs = performance.now();
  const live = process.stderr.isTTY;
  if (live) process.stderr.write(`· ${title} …`);
  try {
    const answer = await work();
    say(`${live ? '\r' : ''}✓ ${title} (${seconds(fromMs)})${live ? '  ' : ''}`);
    return answer;
  } catch (error) {
    say(`${live ? '\r' : ''}✗ ${title} (${seconds(fromMs)})${live ? '  ' : ''}`);
    throw error;
  }
}

export function sayFailure(failure) {
  if (failure.detail) say(failure.detail.trimEnd());
  say(`holdoff: ${failure.message}`);
  if (failure.advice) say(`         ${failure.advice}`);
}
