import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { describe, expect, test } from 'vitest';

/**
 * What runs in production is dist/ alone: no source lies beside it in an image. So each entry of each package is
 * loaded from there, by plain Node and not through the test runner's source condition.
 */
const root = fileURLToPath(new URL('../..', import.meta.url));
const packages = await readdir(join(root, 'packages'));

describe.each(packages)('%s', (name) => {
  test('each of its entries loads from dist', async () => {
    const manifest = JSON.parse(await readFile(join(root, 'packages', name, 'package.json'), 'utf8')) as {
      exports: Record<string, { default: string }>;
    };
    for (const { default: entry } of Object.values(manifest.exports)) {
      const loaded = (await import(
        /* @vite-ignore */ pathToFileURL(join(root, 'packages', name, entry)).href
      )) as object;
      expect(Object.keys(loaded).length).toBeGreaterThan(0);
    }
  });

  test('nothing in dist reaches back into src', async () => {
    const dist = join(root, 'packages', name, 'dist');
    const files = await readdir(dist, { recursive: true });
    for (const file of files.filter((path) => path.endsWith('.js'))) {
      expect(await readFile(join(dist, file), 'utf8'), file).not.toMatch(/['"`](\.\.\/)+src\//);
    }
  });

  test('what the compiler leaves behind lies in dist as it does in src', async () => {
    const src = join(root, 'packages', name, 'src');
    const assets = (await readdir(src, { recursive: true, withFileTypes: true })).filter(
      (entry) => entry.isFile() && !entry.name.endsWith('.ts'),
    );
    for (const { parentPath, name: asset } of assets) {
      const source = join(parentPath, asset);
      const copy = source.replace(src, join(root, 'packages', name, 'dist'));
      expect(await readFile(copy, 'utf8')).toBe(await readFile(source, 'utf8'));
    }
  });
});
