import { expect, test } from 'vitest';
import { CLOSED_CIRCUIT, settleCircuit } from './circuit.ts';
import type { HostKey } from './identifiers.ts';
import {
  hostKeyThrough,
  hostOfScope,
  PROXY_CIRCUIT,
  PROXY_FAILURE_POINTS,
  type ProxyFailure,
  proxyOfScope,
  proxyScope,
} from './proxy-circuit.ts';

const host = 'site.example' as HostKey;

test('a proxy has a scope of its own, which no host can have', () => {
  expect(proxyScope('exit-1')).toBe('proxy:exit-1');
  expect(proxyOfScope(proxyScope('exit-1'))).toBe('exit-1');
  expect(proxyOfScope(host)).toBeNull();
});

test('a host through an exit is told from the host', () => {
  const through = hostKeyThrough(host, 'exit-1');
  expect(through).not.toBe(host);
  expect(hostOfScope(through)).toEqual({ host, proxy: 'exit-1' });
  expect(hostOfScope(host)).toEqual({ host, proxy: null });
});

test('an address in brackets keeps its colons', () => {
  const address = '[2001:db8::1]' as HostKey;
  expect(hostOfScope(hostKeyThrough(address, 'exit-1'))).toEqual({ host: address, proxy: 'exit-1' });
});

test.each([
  ['credentials', 1],
  ['proxy', 5],
  ['destination', 25],
] satisfies [ProxyFailure, number][])(
  'failures of the kind %s open the circuit after %i in a row',
  (kind, times) => {
    const result = {
      outcome: 'throttled',
      leaseId: '',
      generation: 0,
      event: false,
      current: true,
      cooldownUntilMs: 0,
    } as const;
    let circuit = CLOSED_CIRCUIT;
    let failures = 0;
    while (circuit.state === 'closed') {
      failures += 1;
      for (let point = 0; point < PROXY_FAILURE_POINTS[kind]; point += 1)
        circuit = settleCircuit(circuit, PROXY_CIRCUIT, result, 0);
    }
    expect(failures).toBe(times);
  },
);
