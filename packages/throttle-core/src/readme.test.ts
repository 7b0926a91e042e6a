import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const PACKAGE = new URL('../', import.meta.url);
const README = readFileSync(new URL('README.md', PACKAGE), 'utf8');
const EXAMPLES = [...README.matchAll(/<!-- example (\S+) -->\n\n```ts\n(.*?)```/gsu)].map(
  ([, name = '', text = '']) => ({ name, text }),
);

test('the README has examples', () => {
  expect(EXAMPLES.length).toBeGreaterThanOrEqual(2);
});

test.for(EXAMPLES)(
  'the example $name is the file of that name, and prints what it says',
  ({ name, text }) => {
    const file = new URL(`examples/${name}`, PACKAGE);
    expect(text).toBe(readFileSync(file, 'utf8'));
    const said = [...text.matchAll(/^\/\/ (.*)$/gmu)].map(([, line = '']) => line);
    const run = spawnSync(process.execPath, ['--conditions=holdoff-source', file.pathname], {
      encoding: 'utf8',
    });
    expect(run.stdout.trimEnd().split('\n'), run.stderr).toEqual(said);
  },
);
