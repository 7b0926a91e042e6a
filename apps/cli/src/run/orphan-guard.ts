import { type ChildProcess, spawn } from 'node:child_process';

/**
 * A shell that waits for our end. Each line says whom it would have to end, services and then the store; the last one
 * counts when the input closes, as it does however we end. Services may finish what is in flight, as after Ctrl-C.
 */
const SCRIPT = `
services= store=
while IFS='|' read -r a b; do services=$a store=$b; done
running() { for pid in $services; do kill -0 "$pid" && return 0; done; return 1; }
for pid in $services; do kill -TERM "$pid"; done
left=$1
while [ "$left" -gt 0 ] && running; do sleep 1; left=$((left - 1)); done
for pid in $services; do kill -KILL "$pid"; done
[ -n "$store" ] && kill -TERM "$store"
`;

/** Ends the processes of a run when this process is killed before it can do so itself. */
export class OrphanGuard {
  readonly #shell: ChildProcess;
  #services: readonly number[] = [];
  #store = '';

  constructor(stopWithinMs: number) {
    const seconds = String(Math.ceil(stopWithinMs / 1_000));
    // Without a process group of its own, what ends us with our group would end it too.
    this.#shell = spawn('/bin/sh', ['-c', SCRIPT, 'holdoff-guard', seconds], {
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: true,
    });
    // A machine without a shell, or one that was killed: the run goes on without a guard.
    this.#shell.on('error', () => undefined);
    this.#shell.stdin?.on('error', () => undefined);
    this.#shell.unref();
  }

  watchServices(pids: readonly number[]): void {
    this.#services = pids;
    this.#tell();
  }

  watchStore(pid: number): void {
    this.#store = String(pid);
    this.#tell();
  }

  /** Nothing is left to end. */
  release(): void {
    this.#services = [];
    this.#store = '';
    this.#tell();
    this.#shell.stdin?.end();
  }

  #tell(): void {
    this.#shell.stdin?.write(`${this.#services.join(' ')}|${this.#store}\n`);
  }
}
