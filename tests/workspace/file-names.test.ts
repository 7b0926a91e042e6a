import { readdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../..', import.meta.url));

async function sources(folder: string): Promise<readonly string[]> {
  const entries = await readdir(join(root, folder), { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile() && !/[/\\](node_modules|dist|coverage)([/\\]|$)/.test(entry.parentPath))
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length));
}
const all = (await Promise.all(['apps', 'packages', 'tests', 'bootstrap'].map(sources))).flat();

test('file names are kebab-case', () => {
  const odd = all.filter(
    (path) =>
      /\.(ts|mjs|lua)$/.test(path) &&
      !/^[a-z0-9]+(-[a-z0-9]+)*(\.test|\.config)?\.(ts|mjs|lua)$/.test(basename(path)),
  );
  expect(all.length).toBeGreaterThan(50);
  expect(odd).toEqual([]);
});

test('a file is named after the one job it has: a type lives with the code that makes it', () => {
  expect(
    all.filter((path) => /^(utils?|helpers?|common|types|constants|misc|shared)\.ts$/.test(basename(path))),
  ).toEqual([]);
});

test('each package is entered through one index.ts per entry of its exports', async () => {
  const packages = await readdir(join(root, 'packages'));
  for (const name of packages) expect(all).toContain(join('packages', name, 'src', 'index.ts'));
});
