import { readFileSync, readdirSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The checkout. */
export const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));

export const at = (...parts) => join(ROOT, ...parts);

export function readJson(path) {
  return JSON.parse(readFileSync(path, 'utf8'));
}

/** The one place that names pnpm's version is package.json's `packageManager`. */
export function pinnedPnpmVersion() {
  return readJson(at('package.json')).packageManager.replace(/^pnpm@/, '');
}

/** Folders of the workspace's packages, relative to the checkout. */
export function packageFolders() {
  return ['apps', 'packages'].flatMap((group) =>
    readdirSync(at(group), { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => join(group, entry.name))
      .filter((folder) => readdirSync(at(folder)).includes('package.json')),
  );
}

/**
 * The environment of everything that is started: our Node and our tools first. What `npm start` itself put there is
 * taken out, since it would steer the npm and pnpm that run below it.
 */
export function childEnvironment(more = {}) {
  const env = { ...process.env };
  for (const name of Object.keys(env)) {
    if (/^npm_(lifecycle|package|command|execpath|node_execpath|config_(local_)?prefix$)/i.test(name)) {
      delete env[name];
    }
  }
  return {
    ...env,
    PATH: [at('node_modules/.bin'), at('.tools/node_modules/.bin'), env.PATH ?? ''].join(delimiter),
    TURBO_TELEMETRY_DISABLED: '1',
    DO_NOT_TRACK: '1',
    ...more,
  };
}
