const LOOK_EVERY_MS = 500;

/** A parent that was killed cannot pass a signal on: once it is gone, this process asks itself to end. */
export function endWithParent(pid: number): void {
  const timer = setInterval(() => {
    if (process.ppid === pid) return;
    clearInterval(timer);
    process.kill(process.pid, 'SIGTERM');
  }, LOOK_EVERY_MS);
  timer.unref();
}
