import { accessSync, constants, existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { runQuietly } from './child.mjs';
import { withLock } from './lock.mjs';
import { Failure, timed } from './say.mjs';

const SERVERS = ['valkey-server', 'redis-server'];
const POLICY = '/usr/sbin/policy-rc.d';

/** A run on one machine and the tests start their own Redis; this makes sure that there is a binary to start. */
export function hasRedis(env = process.env) {
  return Boolean(env.REDIS_URL) || findServer(env.PATH ?? '') !== undefined;
}

export async function ensureRedis(env = process.env) {
  if (hasRedis(env)) return;
  const advice =
    'Install one ("sudo apt-get install redis-server", "brew install valkey"), or name a running server: REDIS_URL=redis://HOST:6379 npm start';
  if (process.getuid?.() !== 0 || !existsSync('/usr/bin/apt-get')) {
    throw new Failure('no redis-server or valkey-server on the PATH, and REDIS_URL is not set.', { advice });
  }
  await withLock(() => timed("Redis installed from the system's packages", () => installPackage(advice)));
}

function findServer(searchPath) {
  return [...searchPath.split(delimiter).filter(Boolean), '/usr/bin', '/usr/local/bin']
    .flatMap((folder) => SERVERS.map((name) => join(folder, name)))
    .find((file) => {
      try {
        accessSync(file, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}

async function installPackage(advice) {
  let name = await knownPackage();
  if (name === undefined || !hasPackageLists()) {
    const { code, tail } = await apt(['update']);
    if (code !== 0) throw new Failure('apt-get update failed.', { detail: tail, advice });
    name = await knownPackage();
  }
  if (name === undefined)
    throw new Failure('this system has no package valkey-server or redis-server.', { advice });
  let done = await withoutServiceStart(() => installOnce(name));
  if (done.code !== 0) {
    // The lists are older than what the mirror still keeps.
    await apt(['update']);
    done = await withoutServiceStart(() => installOnce(name));
  }
  if (done.code !== 0) throw new Failure(`apt-get could not install ${name}.`, { detail: done.tail, advice });
  // We want the program, not a service that listens on this machine from the next boot on.
  if (existsSync('/run/systemd/system')) await runQuietly('systemctl', ['disable', '--now', name]);
  if (findServer(process.env.PATH ?? '') === undefined) {
    throw new Failure(`the package ${name} brought no server binary.`, { advice });
  }
}

function hasPackageLists() {
  return (
    existsSync('/var/lib/apt/lists') &&
    readdirSync('/var/lib/apt/lists').some((file) => /Packages/.test(file))
  );
}

async function knownPackage() {
  for (const name of SERVERS) {
    const { code, output } = await runQuietly('apt-cache', ['policy', name], { env: { LC_ALL: 'C' } });
    if (code === 0 && /Candidate: (?!\(none\))\S/.test(output)) return name;
  }
  return undefined;
}

function installOnce(name) {
  return apt(['install', '-y', '--no-install-recommends', name]);
}

function apt(args) {
  const patient = ['-qq', '-o', 'Acquire::Retries=3', '-o', 'DPkg::Lock::Timeout=120'];
  return runQuietly('apt-get', [...patient, ...args], {
    env: { DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C' },
    timeoutMs: 10 * 60_000,
  });
}

/** Debian starts a service when its package is installed, unless policy-rc.d says no (101). One that is there stays. */
async function withoutServiceStart(work) {
  const ours = '#!/bin/sh\n# Put here for the time of one package installation.\nexit 101\n';
  if (existsSync(POLICY) && readFileSync(POLICY, 'utf8') !== ours) return work();
  writeFileSync(POLICY, ours, { mode: 0o755 });
  const remove = () => rmSync(POLICY, { force: true });
  process.once('exit', remove);
  try {
    return await work();
  } finally {
    process.off('exit', remove);
    remove();
  }
}
