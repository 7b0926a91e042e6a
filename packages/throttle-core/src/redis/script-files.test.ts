import { readFileSync, readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { HostKey } from '../core/identifiers.ts';
import { hostOfPart, hostPart, keyNames } from './key-names.ts';
import { loadScript } from './load-script.ts';
import { usedDefinitions } from './used-definitions.ts';

const names = (folder: string): string[] =>
  readdirSync(new URL(folder, import.meta.url))
    .filter((file) => file.endsWith('.lua'))
    .map((file) => file.slice(0, -4));
const text = (path: string): string => readFileSync(new URL(path, import.meta.url), 'utf8');
const SCRIPTS = names('scripts/');

describe('the scripts', () => {
  it.each(SCRIPTS)('%s has a wrapper of its name and a header with keys, arguments and reply', (name) => {
    expect(text(`scripts/${name}.ts`)).toContain(`loadScript('${name}')`);
    const header = text(`scripts/${name}.lua`).split('\n\n')[0] ?? '';
    expect(header.startsWith(`-- ${name}: `)).toBe(true);
    expect(header).toMatch(/^-- KEYS {2}1/m);
    expect(header).toMatch(/^-- Reply /m);
    expect(header.includes('ARGV')).toBe(text(`scripts/${name}.lua`).includes('ARGV['));
  });

  it.each(SCRIPTS)('%s has all that it includes, and nothing that it does not use', (name) => {
    const { source } = loadScript(name);
    const defined = [...source.matchAll(/^local function (\w+)/gm)].map(([, each]) => each ?? '');
    for (const each of defined) {
      expect(source.split(new RegExp(`\\b${each}\\b`)).length, `${name}: ${each}`).toBeGreaterThan(2);
    }
    expect(source).not.toContain('@include');
  });

  it('use every fragment', () => {
    const included = SCRIPTS.flatMap((name) =>
      [...text(`scripts/${name}.lua`).matchAll(/^-- @include ([a-z-]+)$/gm)].map(([, each]) => each),
    );
    expect([...new Set(included)].toSorted()).toEqual(names('fragments/').toSorted());
  });

  it('keeps what is needed through others, in order', () => {
    const library =
      'local A = 1\nlocal function b()\n  return A\nend\nlocal function c() end\nlocal d, e = 1, 2';
    expect(usedDefinitions(library, 'return b() + e')).toEqual([
      'local A = 1',
      'local function b()\n  return A\nend',
      'local d, e = 1, 2',
    ]);
  });
});

describe('key names', () => {
  it.each(['site.example', '127.0.0.1:8080', '[::1]', 'group_a'])('keeps %s readable', (host) => {
    expect(hostPart(host as HostKey)).toBe(host);
  });

  it.each(['{x}', 'a b', 'a}b{c', 'Grüße', 'a%20b', '#abc', `x${'é'.repeat(400)}`, '\uD800', '..\n'])(
    'lets %j break neither the hash tag nor meet another host',
    (host) => {
      const part = hostPart(host as HostKey);
      expect(part).toMatch(/^[A-Za-z0-9._%#!'()*~-]{1,253}$/);
      expect(part).not.toBe(hostPart(`${host}x` as HostKey));
      expect(hostOfPart(part)).toBe(part.startsWith('#') ? part : host.toWellFormed());
    },
  );

  it.each(['', 'a}b', '{', 'a b', 'x'.repeat(65)])('refuses the deployment name %j', (tag) => {
    expect(() => keyNames(tag)).toThrow(RangeError);
  });
});
