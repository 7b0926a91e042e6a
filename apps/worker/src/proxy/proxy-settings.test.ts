import { expect, test } from 'vitest';
import { openProxy } from './proxy-settings.ts';

const open = (user: string, password: string, url = 'socks5://proxy.example:1080') =>
  openProxy(
    { name: 'p1', url, resolve: 'here', credentials: { variable: 'LOGIN' } },
    { LOGIN: `${user}:${password}` },
  );

test.each([
  ['u'.repeat(256), 'secret', 'user'],
  ['user', 's'.repeat(256), 'password'],
  ['user', 'é'.repeat(128), 'password'],
  [`${'u'.repeat(250)}{session}`, 'secret', 'user'],
])('what is too long for SOCKS5 is refused at the start, and not told', async (user, password, part) => {
  const refused = await open(user, password).then(String, String);
  expect(refused).toBe(`Error: proxy p1: the ${part} must have at most 255 bytes for socks5`);
});

test('the longest that SOCKS5 carries, and more for other proxies, is taken', async () => {
  const session = `${'u'.repeat(243)}{session}`;
  await expect(open(session, 's'.repeat(255))).resolves.toMatchObject({ kind: 'socks5' });
  await expect(open('u'.repeat(400), 's'.repeat(400), 'http://proxy.example:8080')).resolves.toMatchObject({
    kind: 'http',
  });
});
