import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { runQuietly, runVisibly } from './child.mjs';
import { ensureRedis, hasRedis } from './redis-binary.mjs';
import { Failure, say, sayFailure, seconds, timed } from './say.mjs';
import { prepare } from './steps.mjs';
import { readTally } from './tally.mjs';
import { at, readJson } from './workspace.mjs';

/** Checks beside the tests, by the script of package.json that a developer runs. */
const CHECKS = {
  types: 'types',
  lint: 'lint',
  format: 'format:check',
  unused: 'unused',
  coverage: 'coverage',
};

/**
 * Test layers, in the order they run: each is a project of vitest.config.ts, and answers why it cannot run here.
 * `unit` holds everything beside the code (unit, contract and script tests) and the stories.
 */
const LAYERS = {
  unit: { folder: null, whyNot: whyNoRedis },
  fleet: { folder: 'tests/fleet', whyNot: whyNoRedis },
  containers: { folder: 'tests/containers', whyNot: whyNoEngine },
  browser: { folder: 'tests/browser', whyNot: async () => undefined },
};

/** @param {string[]} wanted names of CHECKS and LAYERS; none: all. Answers the exit code. */
export async function runTests(wanted) {
  const fromMs = performance.now();
  const known = [...Object.keys(CHECKS), ...Object.keys(LAYERS)];
  const unknown = wanted.find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw new Failure(`no test layer ${JSON.stringify(unknown)}.`, {
      advice: `Layers: ${known.join(', ')}.`,
    });
  }
  const chosen = (name) => wanted.length === 0 || wanted.includes(name);
  const complete = process.env.CI === 'true';
  const tally = { passed: 0, failed: 0, failures: [] };
  const fail = (what) => {
    tally.failed += 1;
    tally.failures.push(what);
  };

  rmSync(at('reports'), { recursive: true, force: true });
  mkdirSync(at('reports'), { recursive: true });
  try {
    await prepare();
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    sayFailure(error);
    return conclude({ passed: 0, failed: 1, failures: ['preparing the checkout'] }, fromMs, false);
  }
  const { scripts } = readJson(at('package.json'));
  for (const [name, script] of Object.entries(CHECKS)) {
    if (chosen(name) && !(await runCheck(name, scripts[script].split(' ')))) fail(name);
  }
  for (const [name, layer] of Object.entries(LAYERS)) {
    if (!chosen(name) || !isBuiltYet(layer)) continue;
    const reason = await layer.whyNot();
    if (reason === undefined) await runLayer(name, tally, complete);
    else if (complete || wanted.includes(name)) fail(`${name} could not run: ${reason}`);
    else say(`– left out: ${name}: ${reason}`);
  }
  return conclude(tally, fromMs, wanted.every((name) => name in CHECKS) && wanted.length > 0);
}

async function runCheck(name, [command, ...args]) {
  try {
    await timed(name, async () => {
      const { code, output } = await runQuietly(command, args);
      if (code !== 0) throw new Failure(`${name} failed.`, { detail: output });
    });
    return true;
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    sayFailure(error);
    return false;
  }
}

async function runLayer(name, tally, complete) {
  const report = at('reports', `${name}.json`);
  say(`\n${name}`);
  const code = await runVisibly('vitest', [
    'run',
    `--project=${name}`,
    '--reporter=default',
    '--reporter=json',
    `--outputFile.json=${report}`,
  ]);
  const { passed, failed, skipped, failures } = readTally(report);
  tally.passed += passed;
  tally.failed += failed;
  tally.failures.push(...failures);
  if (passed + failed === 0) {
    tally.failed += 1;
    tally.failures.push(`${name}: no test ran`);
  } else if (code !== 0 && failed === 0) {
    // An unhandled rejection, a worker that died: vitest fails without a failed test.
    tally.failed += 1;
    tally.failures.push(`${name}: vitest ended with exit code ${code}`);
  }
  if (skipped > 0 && complete) {
    tally.failed += skipped;
    tally.failures.push(`${name}: ${skipped} skipped, and nothing may be left out here`);
  } else if (skipped > 0) say(`– left out: ${skipped} skipped tests in ${name}`);
}

/** The last line is a contract: `.ci/run` and people's scripts read it. */
function conclude({ passed, failed, failures }, fromMs, checksOnly) {
  say('');
  for (const failure of failures) say(`✗ ${failure}`);
  say(`finished in ${seconds(fromMs)}`);
  process.stdout.write(`${passed} passed, ${failed} failed\n`);
  return failed > 0 || (passed === 0 && !checksOnly) ? 1 : 0;
}

/** A layer exists once its folder holds a test. */
function isBuiltYet({ folder }) {
  return (
    folder === null ||
    (existsSync(at(folder)) && readdirSync(at(folder)).some((file) => file.endsWith('.test.ts')))
  );
}

async function whyNoRedis() {
  if (hasRedis()) return undefined;
  try {
    await ensureRedis();
    return undefined;
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return `${error.message} ${error.advice}`;
  }
}

async function whyNoEngine() {
  const engine = await runQuietly('docker', ['info', '--format', '{{.ServerVersion}}'], {
    timeoutMs: 20_000,
  });
  if (engine.code === 127) return 'no docker command on the PATH; install Docker to run them.';
  if (engine.code !== 0) return 'no Docker engine answers; start one to run them.';
  for (const command of [
    ['docker', 'compose', 'version'],
    ['docker-compose', 'version'],
  ]) {
    if ((await runQuietly(command[0], command.slice(1), { timeoutMs: 20_000 })).code === 0) return undefined;
  }
  return 'Docker has no compose; install docker-compose or its plugin to run them.';
}
