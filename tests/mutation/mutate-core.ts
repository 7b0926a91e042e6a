// Breaks the policy core in one place after the other and asks whether a test notices:
//
//   pnpm mutate                    100 mutants, drawn by the seed 1
//   pnpm mutate --sample 0         all of them, some hours
//   pnpm mutate --file pace.ts --seed 7
//
// Exit code 1 when one survives: a test is missing, or the change means nothing.
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';
import { type Mutant, mutantsOf } from './mutants.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const CORE = `${ROOT}packages/throttle-core/src/core/`;
const CONFIG = `${ROOT}tests/mutation/vitest.config.ts`;
/** A mutant that loops is noticed by its time. */
const TEST_MS_MOST = 120_000;

const { values } = parseArgs({
  options: {
    file: { type: 'string' },
    sample: { type: 'string', default: '100' },
    seed: { type: 'string', default: '1' },
  },
});
const sample = wholeNumber('sample', values.sample);
const seed = wholeNumber('seed', values.seed);

function wholeNumber(name: string, text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new Error(`--${name}: ${text} must be a whole number`);
}

const all = readdirSync(CORE)
  .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
  .filter((name) => values.file === undefined || name === values.file)
  .flatMap((name) => mutantsOf(CORE + name, readFileSync(CORE + name, 'utf8')));
const chosen = sample === 0 ? all : draw(all, sample, seed);

/** The same seed draws the same mutants (mulberry32). */
function draw(from: readonly Mutant[], count: number, start: number): readonly Mutant[] {
  let state = start;
  const random = (): number => {
    state = (state + 0x6d_2b_79_f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  return from
    .map((mutant) => ({ mutant, rank: random() }))
    .toSorted((a, b) => a.rank - b.rank)
    .slice(0, count)
    .map(({ mutant }) => mutant);
}

async function isNoticed(mutant: Mutant | null): Promise<boolean> {
  const args = [
    'run',
    `--config=${CONFIG}`,
    '--project=unit',
    '--bail=1',
    '--retry=0',
    '--reporter=dot',
    CORE,
  ];
  try {
    await promisify(execFile)('vitest', args, {
      cwd: ROOT,
      env: { ...process.env, MUTANT: JSON.stringify(mutant) },
      timeout: TEST_MS_MOST,
      maxBuffer: 64 * 1024 ** 2,
    });
    return false;
  } catch {
    return true;
  }
}

if (await isNoticed(null)) throw new Error('the tests of the core fail as they are');
const survivors: string[] = [];
for (const [index, mutant] of chosen.entries()) {
  const noticed = await isNoticed(mutant);
  const place = `${mutant.file.slice(CORE.length)}:${mutant.line}`;
  const change = `${mutant.before.trim()} -> ${mutant.after.trim()}`;
  process.stdout.write(
    `${index + 1}/${chosen.length} ${noticed ? 'noticed ' : 'SURVIVED'} ${place}  ${change}\n`,
  );
  if (!noticed) survivors.push(`${place}  ${change}`);
}
const share = chosen.length === 0 ? 0 : (100 * (chosen.length - survivors.length)) / chosen.length;
process.stdout.write(
  `\n${chosen.length - survivors.length} of ${chosen.length} noticed (${share.toFixed(1)} %), of ${all.length} mutants in all\n`,
);
process.exitCode = survivors.length > 0 ? 1 : 0;
