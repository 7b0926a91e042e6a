import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

export interface Script {
  readonly name: string;
  readonly source: string;
  readonly sha1: string;
}

const INCLUDE = /^-- @include ([a-z-]+)$/gm;
// Beside this file, in src/ and in dist/: the build copies what the compiler leaves behind.
const FOLDER = new URL('./', import.meta.url);

function read(path: string): string {
  return readFileSync(new URL(path, FOLDER), 'utf8');
}

/**
 * Reads `scripts/<name>.lua` and puts each fragment it includes in the place of its `-- @include` line.
 * Fragments include nothing: a script's header shows all it is made of. Comments are left out of what is sent.
 */
export function loadScript(name: string): Script {
  const whole = read(`scripts/${name}.lua`).replace(INCLUDE, (_, fragment: string) =>
    read(`fragments/${fragment}.lua`).trimEnd(),
  );
  const source = whole
    .split('\n')
    .filter((line) => !/^\s*--/.test(line) && line.trim() !== '')
    .join('\n');
  return { name, source, sha1: createHash('sha1').update(source).digest('hex') };
}
