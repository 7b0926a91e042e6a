import { existsSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { runQuietly } from './child.mjs';
import { withLock } from './lock.mjs';
import { Failure, timed } from './say.mjs';
import { clearStamp, fingerprintOf, setStamp, stampIs } from './stamp.mjs';
import { ROOT, at, packageFolders, pinnedPnpmVersion, readJson } from './workspace.mjs';

/**
 * The steps from a bare checkout to a built one, in order. Each is skipped when its stamp is current and what it made
 * is still there; otherwise it runs again from the start.
 */
const STEPS = [pnpmStep, dependenciesStep, buildStep];

export async function prepare() {
  if (STEPS.every((step) => isCurrent(step()))) return;
  await withLock(async () => {
    for (const step of STEPS) {
      const { title, stamp, fingerprint, make, isThere } = step();
      if (isCurrent({ stamp, fingerprint, isThere })) continue;
      clearStamp(stamp);
      await timed(title, make);
      setStamp(stamp, fingerprint);
    }
  });
}

function isCurrent({ stamp, fingerprint, isThere }) {
  return stampIs(stamp, fingerprint) && isThere();
}

function pnpmStep() {
  const version = pinnedPnpmVersion();
  const command = at('.tools/node_modules/.bin/pnpm');
  return {
    title: `pnpm ${version} fetched into .tools`,
    stamp: at('.tools/node_modules/.holdoff-pnpm'),
    fingerprint: fingerprintOf([], version, process.platform, process.arch),
    isThere: () => existsSync(command),
    make: async () => {
      rmSync(at('.tools/node_modules'), { recursive: true, force: true });
      mkdirSync(at('.tools'), { recursive: true });
      // `--prefix` keeps it in the checkout: nothing is installed globally.
      const { code, tail } = await runQuietly(
        'npm',
        [
          'install',
          '--prefix',
          '.',
          '--no-save',
          '--no-package-lock',
          '--no-audit',
          '--no-fund',
          `pnpm@${version}`,
        ],
        { cwd: at('.tools') },
      );
      if (code !== 0) throw installFailure(`npm could not fetch pnpm ${version}.`, tail);
      const check = await runQuietly(command, ['--version']);
      if (check.code !== 0) throw installFailure(`pnpm ${version} does not start.`, check.tail);
    },
  };
}

function dependenciesStep() {
  const folders = packageFolders();
  const manifests = ['package.json', ...folders.map((folder) => join(folder, 'package.json'))];
  const inputs = ['pnpm-lock.yaml', 'pnpm-workspace.yaml', ...manifests].map((file) => at(file));
  return {
    title: 'dependencies and Node 24 installed',
    stamp: at('node_modules/.holdoff-install'),
    fingerprint: fingerprintOf(inputs, pinnedPnpmVersion(), process.platform, process.arch, ROOT),
    isThere: () => manifests.every(hasItsDependencies) && isFilled(at('node_modules/node/bin/node')),
    make: async () => {
      const args = ['install', '--frozen-lockfile', '--config.confirm-modules-purge=false'];
      const { code, tail } = await runQuietly('pnpm', args);
      if (code !== 0) throw installFailure('pnpm could not install the dependencies.', tail);
      // A package manager trusts its own records; what was deleted by hand comes back only from nothing.
      if (!manifests.every(hasItsDependencies) || !isFilled(at('node_modules/node/bin/node'))) {
        for (const folder of ['.', ...folders])
          rmSync(at(folder, 'node_modules'), { recursive: true, force: true });
        const again = await runQuietly('pnpm', args);
        if (again.code !== 0) throw installFailure('pnpm could not install the dependencies.', again.tail);
      }
      const check = await runQuietly(at('node_modules/.bin/node'), ['--version']);
      if (check.code !== 0) throw installFailure('the Node 24 of the workspace does not start.', check.tail);
    },
  };
}

function hasItsDependencies(manifest) {
  const { dependencies = {}, devDependencies = {} } = readJson(at(manifest));
  const folder = at(manifest, '..', 'node_modules');
  return Object.keys({ ...dependencies, ...devDependencies }).every((name) =>
    existsSync(join(folder, name, 'package.json')),
  );
}

function isFilled(path) {
  return statSync(path, { throwIfNoEntry: false })?.size > 0;
}

function buildStep() {
  const folders = packageFolders();
  const sources = folders.flatMap((folder) => filesBelow(join(folder, 'src')));
  const settings = ['tsconfig.base.json', 'turbo.json', 'package.json', 'pnpm-lock.yaml'];
  for (const folder of folders) settings.push(join(folder, 'package.json'), join(folder, 'tsconfig.json'));
  const built = sources.filter((file) => !file.endsWith('.test.ts'));
  return {
    title: 'built',
    stamp: at('node_modules/.holdoff-build'),
    fingerprint: fingerprintOf([...built, ...settings].map((file) => at(file))),
    isThere: () => built.every((file) => existsSync(outputOf(file))),
    make: async () => {
      // Outputs of sources that are gone would otherwise stay importable, and a compiler that finds its own record
      // current does not write a file that was deleted.
      for (const folder of folders) rmSync(at(folder, 'dist'), { recursive: true, force: true });
      const { code, tail } = await runQuietly('turbo', [
        'run',
        'build',
        '--output-logs=errors-only',
        '--ui=stream',
      ]);
      if (code !== 0)
        throw new Failure('the build failed.', { detail: tail, advice: 'Fix the errors above.' });
      const missing = built.find((file) => !existsSync(outputOf(file)));
      if (missing) {
        throw new Failure(`the build left no ${relative(ROOT, outputOf(missing))}.`, {
          advice: 'Delete .turbo and try again; if it stays, the build script of that package is wrong.',
        });
      }
    },
  };
}

function filesBelow(folder) {
  return readdirSync(at(folder), { withFileTypes: true })
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      return entry.isDirectory() ? filesBelow(path) : [path];
    });
}

/** Where a source ends up: TypeScript as JavaScript, everything else (Lua, HTML, CSS) under its own name. */
function outputOf(source) {
  return at(
    source
      .replace(/^((?:apps|packages)[^/\\]*[/\\][^/\\]+[/\\])src/, '$1dist')
      .replace(/(?<!\.d)\.ts$/, '.js'),
  );
}

/** What went wrong at the registry or the disk, and what the user can do about it. */
const CAUSES = [
  [
    /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|ECONNRESET|ENETUNREACH|network/i,
    'The npm registry cannot be reached: check the network (and the proxy settings of npm), then run the command again.',
  ],
  [
    /CERT|UNABLE_TO_VERIFY|certificate|UnknownIssuer/i,
    'A proxy signs this connection with a certificate of its own: name its file in NODE_EXTRA_CA_CERTS, then run the command again.',
  ],
  [/ENOSPC|no space/i, 'The disk is full: make room, then run the command again.'],
  [
    /EACCES|EPERM|permission denied/i,
    'This user may not write here: check who owns the checkout, then run the command again.',
  ],
];

function installFailure(message, detail) {
  const [, advice] = CAUSES.find(([sign]) => sign.test(detail)) ?? [];
  return new Failure(message, {
    detail,
    advice: advice ?? 'The lines above say why; running the command again starts the step afresh.',
  });
}
