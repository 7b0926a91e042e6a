import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { ROOT, childEnvironment } from './workspace.mjs';

const TAIL_LINES = 25;
const KEPT_BYTES_MAX = 256 * 1024;
/** npm hands a Ctrl-C on to us although the terminal has already done so: signals this close together are one. */
const SAME_SIGNAL_WITHIN_MS = 400;

/**
 * Runs a command without showing it.
 * @returns {Promise<{ code: number, output: string, tail: string }>} code 127: the command is not there
 */
export function runQuietly(command, args, { cwd = ROOT, env = {}, timeoutMs = 0 } = {}) {
  return new Promise((resolve) => {
    let output = '';
    const child = spawn(command, args, {
      cwd,
      env: childEnvironment(env),
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: timeoutMs,
      killSignal: 'SIGKILL',
    });
    // Whoever stops us stops what we started.
    const stop = () => child.kill('SIGKILL');
    process.once('exit', stop);
    const keep = (chunk) => {
      output = (output + chunk).slice(-KEPT_BYTES_MAX);
    };
    const end = (code) => {
      process.off('exit', stop);
      resolve({ code, output, tail: output.trimEnd().split('\n').slice(-TAIL_LINES).join('\n') });
    };
    child.stdout.setEncoding('utf8').on('data', keep);
    child.stderr.setEncoding('utf8').on('data', keep);
    child.once('error', (error) => {
      output += error.message;
      end(127);
    });
    child.once('close', (code, signal) => end(code ?? exitCodeOf(signal)));
  });
}

/** Runs a command with our terminal, and answers its exit code. Ctrl-C ends it and us in the ordinary way. */
export function runVisibly(command, args, { env = {} } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd: ROOT,
      env: childEnvironment(env),
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    child.once('error', reject);
    child.once('close', (code, signal) => resolve(code ?? exitCodeOf(signal)));
  });
}

/**
 * Runs the main command in our place: standard input and output are its own, each signal reaches it once, and its
 * exit code becomes ours. When we are killed it ends as after SIGTERM. It gets a process group of its own, since the terminal, npm and we would otherwise each
 * send it the same Ctrl-C, and the second one means "at once" to it.
 */
export function runInOurPlace(command, args, { cwd, env = {} }) {
  return new Promise((resolve, reject) => {
    const endsWithUs = { HOLDOFF_ENDS_WITH: String(process.pid) };
    const child = spawn(command, args, {
      cwd,
      env: childEnvironment({ ...env, ...endsWithUs }),
      stdio: 'inherit',
      detached: true,
    });
    const lastAtMs = new Map();
    const passOn = (signal) => {
      const nowMs = performance.now();
      const isEcho = nowMs - (lastAtMs.get(signal) ?? -Infinity) < SAME_SIGNAL_WITHIN_MS;
      if (!isEcho) {
        lastAtMs.set(signal, nowMs);
        child.kill(signal);
      }
    };
    const signals = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR2', 'SIGWINCH'];
    for (const signal of signals) process.removeAllListeners(signal).on(signal, passOn);
    child.once('error', reject);
    child.once('close', (code, signal) => {
      for (const name of signals) process.off(name, passOn);
      resolve(code ?? exitCodeOf(signal));
    });
  });
}

function exitCodeOf(signal) {
  return 128 + (constants.signals[signal] ?? 0);
}
