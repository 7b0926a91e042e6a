import { readFileSync } from 'node:fs';
import { mergeConfig } from 'vitest/config';
import base from '../../vitest.config.ts';
import { applyMutant, type Mutant } from './mutants.ts';

/** The tests of the checkout, run against one mutant: the file itself stays as it is. */
const mutant = JSON.parse(process.env['MUTANT'] ?? 'null') as Mutant | null;

export default mergeConfig(base, {
  // A transformed mutant must not be found by a later run.
  test: { fsModuleCache: false },
  root: new URL('../../', import.meta.url).pathname,
  plugins: [
    {
      name: 'mutant',
      enforce: 'pre',
      load: (id: string) => (id === mutant?.file ? applyMutant(readFileSync(id, 'utf8'), mutant) : undefined),
    },
  ],
});
