import { describe, expect, test } from 'vitest';
import { AddressGuard } from './address-guard.ts';
import { checkUrl, type UrlRule } from './check-url.ts';

const closed = new AddressGuard({
  extraPorts: [8080],
  allowedNetworks: [],
  ownAddresses: () => ['93.184.216.40'],
});
const open = new AddressGuard({ extraPorts: [], allowedNetworks: ['127.0.0.0/8', 'fd12::/16'] });

const ruleOf = (url: string, guard: AddressGuard): UrlRule | 'ok' => {
  const verdict = checkUrl(url, guard);
  return verdict.kind === 'ok' ? 'ok' : verdict.rule;
};

describe('every spelling of an address that is not public is refused', () => {
  test.each([
    'http://168.63.129.16/machine?comp=goalstate',
    'http://100.100.100.200/latest/meta-data/',
    'http://192.0.0.192/opc/v2/',
    'http://[fd00:ec2::254]/latest/',
    'http://169.254.169.254/latest/meta-data/',
    'http://2852039166/',
    'http://0xa9fea9fe/',
    'http://0251.0376.0251.0376/',
    'http://169.254.43518/',
    'http://[::ffff:169.254.169.254]/',
    'http://[64:ff9b::a9fe:a9fe]/',
    'http://[64:ff9b:1::8.8.8.8]/',
    'http://[fd00:ec2::254]/',
    'http://[::169.254.169.254]/',
    'http://[2002:a9fe:a9fe::]/',
    'http://[2001:0:a9fe:a9fe::1]/',
    'http://[::ffff:0:169.254.169.254]/',
    'http://127.0.0.1/',
    'http://127.1/',
    'http://0177.0.0.1/',
    'http://2130706433/',
    'http://①②⑦.0.0.1/',
    'http://127。0。0。1/',
    'http://%31%32%37.0.0.1/',
    'http://[::1]/',
    'http://[0:0:0:0:0:ffff:7f00:1]/',
    'http://[::]/',
    'http://0.0.0.0/',
    'http://0/',
    'http://10.0.0.5/',
    'http://172.16.0.1/',
    'http://192.168.1.1/',
    'http://100.64.0.1/',
    'http://198.18.0.1/',
    'http://192.0.0.192/',
    'http://192.0.2.1/',
    'http://198.51.100.1/',
    'http://203.0.113.1/',
    'http://224.0.0.1/',
    'http://240.0.0.1/',
    'http://255.255.255.255/',
    'http://[fe80::1]/',
    'http://[fec0::1]/',
    'http://[ff02::1]/',
    'http://[2001:db8::1]/',
    'http://[3fff::1]/',
    'http://[5f00::1]/',
    'http://[100::1]/',
    'http://[4000::1]/',
    'http://93.184.216.40/',
    'http://0x7f000001/',
    'http://0x7F.0.0.1/',
    'http://0177.1/',
    'http://127.0.1/',
    'http://017700000001/',
    'http://127.0.0.1./',
    'http:127.0.0.1/',
    'http:/127.0.0.1/',
    'http:\\\\127.0.0.1\\',
    'http://127.0.0.1#@example.com/',
    'http://127.0.0.1?@example.com/',
    'http://127.0.0.1\\@example.com/',
    'http://127.\t0.0.1/',
    'http://１２７.0.0.1/',
    'http://1/',
    'http://0x/',
    'http://0xffffffff/',
    'http://[::127.0.0.1]/',
    'http://[0:0:0:0:0:0:7f00:1]/',
    'http://[0:0:0:0:0:ffff:127.0.0.1]/',
    'http://[64:ff9b::10.0.0.1]/',
    'http://[64:ff9b::127.0.0.1]/',
    'http://[64:ff9b:1::10.0.0.1]/',
    'http://[2002:7f00:1::]/',
    'http://[2002:808:808::1]/',
    'http://[2001::1]/',
    'http://[fe80::5efe:10.0.0.1]/',
    'http://[fd12:3456::1]/',
    'http://[fc00::1]/',
    'http://[ff0e::1]/',
    'http://[2001:2::1]/',
    'http://[2001:10::1]/',
    'http://192.88.99.1/',
    'http://192.31.196.1/',
  ])('%s', (url) => {
    expect(ruleOf(url, closed)).toBe('address');
  });

  test.each([
    'http://8.8.8.8/',
    'https://[2606:4700::1111]/',
    'http://[::ffff:8.8.8.8]/',
    'http://[64:ff9b::8.8.8.8]/',
  ])('%s is public', (url) => {
    expect(ruleOf(url, closed)).toBe('ok');
  });
});

describe('URL rules', () => {
  test.each<[string, UrlRule]>([
    ['file:///etc/passwd', 'scheme'],
    ['gopher://127.0.0.1:6379/_FLUSHALL', 'scheme'],
    ['ftp://example.com/', 'scheme'],
    ['data:text/html,x', 'scheme'],
    ['javascript:alert(1)', 'scheme'],
    ['unix:/var/run/docker.sock:/info', 'scheme'],
    ['http://unix:/var/run/docker.sock:/info', 'host'],
    ['http://1.1.1.1 &@2.2.2.2# @3.3.3.3/', 'userinfo'],
    ['http://127.0.0.1%2f@example.com/', 'userinfo'],
    ['http://user:pass@example.com/', 'userinfo'],
    ['http://example.com:0/', 'port'],
    ['http://example.com:22/', 'port'],
    ['http://8.8.8.8:22/', 'port'],
    ['http://example.com:6379/', 'port'],
    [`http://${'a'.repeat(64)}.com/`, 'host'],
    [`http://${'a.'.repeat(130)}com/`, 'host'],
    ['http://a..b/', 'host'],
    ['http://xn--/', 'host'],
    ['http://xn--a.com/', 'host'],
    ['http://ex!ample.com/', 'host'],
    ['http://./', 'host'],
    [`http://example.com/${'a'.repeat(100_000)}`, 'too_long'],
    [`http://example.com/${'é'.repeat(2_000)}`, 'too_long'],
    ['http://256.1.1.1/', 'syntax'],
    ['http://08.1.1.1/', 'syntax'],
    ['http://example.com:99999/', 'syntax'],
    ['http://[::bad', 'syntax'],
    ['http://[fe80::1%25eth0]/', 'syntax'],
    ['http://', 'syntax'],
    ['/relative', 'syntax'],
    ['', 'syntax'],
    ['http://a.b.c.1/', 'syntax'],
    ['http://127.0.0.1.5/', 'syntax'],
    ['http://0x7f.0.0.0.1/', 'syntax'],
    ['http://4294967296/', 'syntax'],
    ['http://[::ffff:127.1]/', 'syntax'],
    ['http://[fe80::1%eth0]/', 'syntax'],
    ['http://[127.0.0.1]/', 'syntax'],
    ['http://exa mple.com/', 'syntax'],
    ['http://example.com:+80/', 'syntax'],
    ['http://example.com:8o/', 'syntax'],
    ['http://example.com@127.0.0.1/', 'userinfo'],
    ['http://:pass@example.com/', 'userinfo'],
    ['http://user@example.com/', 'userinfo'],
    ['http://example.com:65535/', 'port'],
    ['http://*.example.com/', 'host'],
    ['ws://example.com/', 'scheme'],
    ['blob:http://example.com/x', 'scheme'],
    ['view-source:http://example.com/', 'scheme'],
  ])('%s is refused for its %s', (url, rule) => {
    expect(ruleOf(url, closed)).toBe(rule);
  });

  test.each([
    'http://example.com/',
    'https://example.com:8080/a?b=c#d',
    'http://example.com./',
    'http://bücher.example/',
    'http://xn--bcher-kva.example/',
    'http://under_score.example.com/',
    'hTtP://ExAmPlE.cOm/',
    'http://example.com:080/',
    'http://example.com:/',
    'http://faß.example/',
    'http://ex\tample.com/',
    'http://例え.テスト/',
    'http://1e3/',
  ])('%s passes', (url) => {
    expect(ruleOf(url, closed)).toBe('ok');
  });

  test('an open network may be used on any port, and a name may turn out to be inside it', () => {
    expect(ruleOf('http://127.0.0.1:12345/', open)).toBe('ok');
    expect(ruleOf('http://[fd12::5]:9000/', open)).toBe('ok');
    expect(ruleOf('http://localhost:12345/', open)).toBe('ok');
    expect(ruleOf('http://10.0.0.1:12345/', open)).toBe('address');
    expect(ruleOf('http://8.8.8.8:12345/', open)).toBe('port');
    expect(ruleOf('http://127.0.0.1:0/', open)).toBe('port');
  });

  test('a host may have ports of its own, which no other host has', () => {
    const guard = new AddressGuard({
      extraPorts: [],
      allowedNetworks: [],
      extraPortsOf: (hostname) => (hostname === 'shop.test' || hostname === '2606:4700::1111' ? [8443] : []),
    });
    expect(ruleOf('https://shop.test:8443/', guard)).toBe('ok');
    expect(ruleOf('https://SHOP.test:8443/', guard)).toBe('ok');
    expect(ruleOf('https://[2606:4700::1111]:8443/', guard)).toBe('ok');
    expect(ruleOf('https://other.test:8443/', guard)).toBe('port');
    expect(ruleOf('https://8.8.8.8:8443/', guard)).toBe('port');
    expect(guard.refusal('8.8.8.8', 8443, 'shop.test')).toBeUndefined();
    expect(guard.refusal('8.8.8.8', 8443, 'other.test')?.rule).toBe('port');
  });

  test('the verdict carries the canonical URL without fragment, and the host without brackets', () => {
    const verdict = checkUrl('HTTP://EXAMPLE.com:80/%7ea/../b?q#frag', closed);
    expect(verdict).toMatchObject({ kind: 'ok', hostname: 'example.com', port: 80 });
    expect(verdict.kind === 'ok' && verdict.url.href).toBe('http://example.com/b?q');
    expect(checkUrl('https://[2606:4700::1111]/', closed)).toMatchObject({
      hostname: '2606:4700::1111',
      port: 443,
    });
  });
});
