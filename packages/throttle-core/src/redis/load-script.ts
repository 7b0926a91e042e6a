import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { usedDefinitions } from './used-definitions.ts';

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

function withoutComments(lua: string): string {
  return lua
    .split('\n')
    .filter((line) => !/^\s*--/.test(line) && line.trim() !== '')
    .join('\n');
}

/**
 * Reads `scripts/<name>.lua` and puts the fragments that it includes in front of it, without what it does not use.
 * Fragments include nothing: a script's header shows all it is made of. Comments are left out of what is sent.
 */
export function loadScript(name: string): Script {
  const script = read(`scripts/${name}.lua`);
  const fragments = [...script.matchAll(INCLUDE)].map(([, fragment]) => read(`fragments/${fragment}.lua`));
  const body = withoutComments(script);
  const source = [...usedDefinitions(withoutComments(fragments.join('\n')), body), body].join('\n');
  return { name, source, sha1: createHash('sha1').update(source).digest('hex') };
}
