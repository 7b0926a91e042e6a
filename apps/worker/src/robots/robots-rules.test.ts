import { assert, property, uint8Array, webPath } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isAllowed, parseRobots, ROBOTS_BYTES_MAX } from './robots-rules.ts';

const read = (text: string | Buffer) => parseRobots(Buffer.from(text as string), 'Holdoff');
const allowed = (text: string, path: string): boolean =>
  isAllowed(read(text).rules, new URL(path, 'https://shop.test'));
const every = (rules: string): string => `User-agent: *\n${rules}`;

describe('which group is ours (RFC 9309 §2.2.1)', () => {
  test.each<[string, string, boolean]>([
    ['our own token, whatever its case', 'user-agent: HOLDOFF\ndisallow: /', false],
    ['our token with a version and words after it', 'User-agent: Holdoff/2.1 (our bot)\nDisallow: /', false],
    ['everyone, where we are not named', 'User-agent: *\nDisallow: /', false],
    ['everyone, with words after the star', 'User-agent: * all of you\nDisallow: /', false],
    [
      'our group rules out the one for everyone',
      'User-agent: *\nDisallow: /\nUser-agent: Holdoff\nAllow: /',
      true,
    ],
    ['also when ours comes first', 'User-agent: Holdoff\nAllow: /\n\nUser-agent: *\nDisallow: /', true],
    ['also when it says nothing', 'User-agent: Holdoff\nDisallow:\n\nUser-agent: *\nDisallow: /', true],
    ['another token that begins like ours', 'User-agent: HoldoffX\nDisallow: /', true],
    ['another token that ours begins like', 'User-agent: Hold\nDisallow: /', true],
    ['several tokens share a group', 'User-agent: a\nUser-agent: Holdoff\nUser-agent: b\nDisallow: /', false],
    [
      'all groups that name us count',
      'User-agent: Holdoff\nDisallow: /x\n\nUser-agent: Holdoff\nDisallow: /a',
      false,
    ],
    [
      'a sitemap between two tokens does not part them',
      'User-agent: Holdoff\nSitemap: x\nUser-agent: b\nDisallow: /',
      false,
    ],
    [
      'an unknown line between them neither',
      'User-agent: Holdoff\nNoindex: x\nUser-agent: b\nDisallow: /',
      false,
    ],
    ['an empty line does not end a group', 'User-agent: Holdoff\n\n\nDisallow: /', false],
    ['rules before any token bind nobody', 'Disallow: /\nUser-agent: other\nDisallow: /', true],
    ['a byte order mark is no part of the first line', '\uFEFFUser-agent: *\nDisallow: /', false],
    ['comments are no part of a line', 'User-agent: * # all\nDisallow: / # everything', false],
    ['old line ends', 'User-agent: *\rDisallow: /', false],
    ['spaces around everything', '  user-agent  :  *  \n  disallow  :  /  ', false],
    ['nothing at all', '', true],
    ['a page instead', '<!doctype html><title>Not found: sorry</title>', true],
  ])('%s', (_, text, expected) => {
    expect(allowed(text, '/a')).toBe(expected);
  });
});

describe('which rule decides (RFC 9309 §2.2.2)', () => {
  test.each<[string, string, boolean]>([
    ['Disallow: /fish', '/fish.html', false],
    ['Disallow: /fish', '/fishheads/yummy.html', false],
    ['Disallow: /fish', '/Fish.asp', true],
    ['Disallow: /fish', '/catfish', true],
    ['Disallow: /fish/', '/fish', true],
    ['Disallow: /fish*', '/fish.html', false],
    ['Disallow: /*.php', '/index.php?x=/', false],
    ['Disallow: /*.php', '/windows.PHP', true],
    ['Disallow: /*.php$', '/filename.php', false],
    ['Disallow: /*.php$', '/filename.php?parameters', true],
    ['Disallow: /fish*.php', '/fishheads/catfish.php?p', false],
    ['Disallow: /$', '/', false],
    ['Disallow: /$', '/a', true],
    ['Disallow: *', '/a', false],
    ['Disallow: /a*b*c$', '/a1b2c3c', false],
    ['Disallow: /a*bb$', '/abb', false],
    ['Disallow: /a*aa$', '/aa', true],
    ['Disallow: /ab*b$', '/ab', true],
    ['Allow: /p\nDisallow: /', '/page', true],
    ['Allow: /folder\nDisallow: /folder', '/folder/page', true],
    ['Disallow: /folder\nAllow: /folder', '/folder/page', true],
    ['Allow: /page\nDisallow: /*.htm', '/page.htm', false],
    ['Allow: /$\nDisallow: /', '/', true],
    ['Allow: /$\nDisallow: /', '/page.htm', false],
    ['Disallow:', '/a', true],
    ['Disallow: /x?y', '/x?y=1', false],
    ['Disallow: /a$b', '/a$b', false],
    ['Disallow: /a%24', '/a$', false],
    ['Disallow: /path/%2A', '/path/*', false],
    ['Disallow: /path/%2A', '/path/x', true],
    ['Disallow: /foo/bar?baz=http://foo.bar', '/foo/bar?baz=http://foo.bar', false],
    ['Disallow: /foo/ツ', '/foo/%E3%83%84', false],
    ['Disallow: /foo/%E3%83%84', '/foo/ツ', false],
    ['Disallow: /foo/%e3%83%84', '/foo/ツ', false],
    ['Disallow: /bar/%62%61%7A', '/bar/baz', false],
    ['Disallow: /bar/baz', '/bar/%62%61%7A', false],
    ['Disallow: /a%2Fb', '/a/b', true],
    ['Disallow: /a%2fb', '/a%2Fb', false],
    ['Disallow: /', '/robots.txt', true],
    ['Disallow: fish', '/fish', true],
  ])('%s for %s', (rules, path, expected) => {
    expect(allowed(every(rules), path)).toBe(expected);
  });
});

describe('Crawl-delay', () => {
  test.each<[string, number | null]>([
    ['10', 10],
    ['0.2', 0.2],
    ['1.5', 1.5],
    ['301', 301],
    ['0', 0],
    ['-1', null],
    ['abc', null],
    ['1e3', null],
    ['10s', null],
    ['', null],
    ['9999999999', null],
  ])('%j is %j seconds', (value, seconds) => {
    expect(read(every(`Crawl-delay: ${value}`)).crawlDelaySeconds).toBe(seconds);
  });

  test('ours is taken from our group, and the longest of several', () => {
    const text =
      'User-agent: *\nCrawl-delay: 99\nUser-agent: Holdoff\nDisallow: /x\nCrawl-delay: 2\nCrawl-delay: 5';
    expect(read(text).crawlDelaySeconds).toBe(5);
  });
});

describe('limits', () => {
  test('what comes after 500 KiB is not read, and what comes before is', () => {
    const filler = `# ${'x'.repeat(98)}\n`.repeat(ROBOTS_BYTES_MAX / 100);
    expect(allowed(`${every('Disallow: /early\n')}${filler}Disallow: /late`, '/early')).toBe(false);
    expect(allowed(`${every('Disallow: /early\n')}${filler}\nDisallow: /late`, '/late')).toBe(true);
  });

  test('patterns made to be slow are not', () => {
    const slow = every(
      `Disallow: /${'*a'.repeat(8_000)}b`.concat('\nDisallow: /*a*a*a*a*a*a*a*a*b$'.repeat(10_000)),
    );
    const { rules } = read(slow);
    const startedAt = performance.now();
    expect(isAllowed(rules, new URL(`https://shop.test/${'a'.repeat(8_000)}`))).toBe(true);
    expect(performance.now() - startedAt).toBeLessThan(1_000);
  });

  test('no bytes make it throw', () => {
    assert(
      property(uint8Array({ maxLength: 500 }), webPath(), (bytes, path) => {
        const text = Buffer.concat([Buffer.from('User-agent:*\nDisallow:'), bytes]);
        const url = new URL(`https://shop.test${path}`);
        expect(() => isAllowed(parseRobots(text, 'Holdoff').rules, url)).not.toThrow();
      }),
    );
  });
});

test('a rule that is written ten thousand times is one rule', () => {
  const body = new TextEncoder().encode(`User-agent: *\n${'Allow: /a\nDisallow: /b\n'.repeat(10_000)}`);
  expect(parseRobots(body, 'Holdoff').rules).toEqual([
    { allow: true, pattern: '/a' },
    { allow: false, pattern: '/b' },
  ]);
});
