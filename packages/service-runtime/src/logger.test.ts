import { expect, test } from 'vitest';
import { createLogger } from './logger.ts';

function capture(level: 'debug' | 'info' = 'info') {
  const lines: string[] = [];
  const logger = createLogger({
    service: 'worker',
    instance: 'w-1',
    level,
    stream: { write: (line: string) => void lines.push(line) },
  });
  return { logger, lines, last: () => JSON.parse(lines.at(-1) ?? '{}') as Record<string, unknown> };
}

test('a line is one JSON object with level, time, service, instance and message', () => {
  const { logger, lines, last } = capture();
  logger.info('attempt', { host: 'a.test', status: 429 });
  expect(lines).toHaveLength(1);
  expect(last()).toMatchObject({
    level: 'info',
    service: 'worker',
    instance: 'w-1',
    msg: 'attempt',
    host: 'a.test',
  });
  expect(String(last()['time'])).toMatch(/^\d{4}-\d\d-\d\dT/);
});

test('levels below the configured one cost nothing and write nothing', () => {
  const { logger, lines } = capture();
  logger.debug('hidden');
  expect(lines).toEqual([]);
});

/** Shaped like an HTTP client's error: everything that must not be logged hangs on it. */
class RequestError extends Error {
  readonly #secret = 'CANARY-private';
  readonly code = 'ETIMEDOUT';
  readonly options = {
    url: new URL('http://u:CANARY-user@a.test/?token=CANARY-query'),
    headers: { authorization: 'Bearer CANARY-header' },
    agent: { proxy: 'http://u:CANARY-proxy@proxy.test' },
    password: 'CANARY-password',
  };
  readonly response = { body: 'CANARY-body' };
  get timings(): string {
    return this.#secret;
  }
}

test('of an error only name, code, message, frames and cause are written, redacted', () => {
  const { logger, lines, last } = capture();
  const cause = new RequestError('proxy http://u:CANARY-cause@proxy.test answered 407');
  const error = new RequestError('GET http://u:CANARY-message@a.test/?api_key=CANARY-key failed', { cause });
  logger.error('attempt failed', { error, more: { deep: { error } }, list: [error] });
  expect(lines.join('')).not.toContain('CANARY');
  expect(last()).toMatchObject({ error: { name: 'Error', code: 'ETIMEDOUT', cause: { code: 'ETIMEDOUT' } } });
});

test('fields with a secret name, class instances, functions and buffers are not written', () => {
  const { logger, lines, last } = capture();
  logger.info('odd', {
    authorization: 'CANARY',
    tokensLeft: 3,
    headers: new Headers({ authorization: 'CANARY' }),
    agent: new (class Agent {
      readonly proxy = 'CANARY';
    })(),
    body: Buffer.from('CANARY'),
    call: () => 'CANARY',
    big: 10n,
    nan: Number.NaN,
  });
  expect(lines.join('')).not.toContain('CANARY');
  expect(last()).toMatchObject({ tokensLeft: 3, agent: '[Agent]', body: '[Buffer]', big: '10', nan: 'NaN' });
});

test.each([
  [
    'a getter that throws',
    {
      get field(): never {
        throw new Error('no');
      },
    },
  ],
  [
    'a proxy that throws',
    {
      field: new Proxy(
        {},
        {
          ownKeys: () => {
            throw new Error('no');
          },
        },
      ),
    },
  ],
  ['a revoked proxy', { field: revoked() }],
  [
    'a toJSON that throws',
    {
      field: {
        toJSON: () => {
          throw new Error('no');
        },
      },
    },
  ],
  [
    'an error with a throwing message',
    {
      field: Object.defineProperty(new Error('x'), 'message', {
        get: () => {
          throw new Error('no');
        },
      }),
    },
  ],
])('%s fails no caller', (_, fields) => {
  const { logger, lines } = capture();
  expect(() => logger.info('odd', fields)).not.toThrow();
  expect(lines).toHaveLength(1);
});

function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

test('cyclic, deep, wide and huge values are cut', () => {
  const { logger, lines } = capture();
  const cyclic: Record<string, unknown> = { text: 'x'.repeat(10_000_000) };
  cyclic['self'] = cyclic;
  logger.info('big', { cyclic, wide: Array.from({ length: 100_000 }, (_, index) => index) });
  expect(lines[0]?.length).toBeLessThan(20_000);
});

test.each([1_970, 1_985, 1_995, 1_999])(
  'a password that lies across the end of a text is not told (from %i)',
  (at) => {
    const { logger, lines } = capture();
    const text = `${'x'.repeat(at)}https://user:hunter2hunter2hunter2@site.example/`;
    logger.info('odd', { text, error: new Error(text) });
    expect(lines.join('')).not.toMatch(/hunte|user:h/);
  },
);

test('a stream that fails does not fail the caller', () => {
  const logger = createLogger({
    service: 's',
    instance: 'i',
    level: 'info',
    stream: {
      write: () => {
        throw new Error('EPIPE');
      },
    },
  });
  expect(() => logger.info('gone')).not.toThrow();
});

test('a field cannot pass itself off as the level or the message', () => {
  const { logger, last } = capture();
  logger.child({ job: 'j' }).info('real', { msg: 'forged', level: 'fatal', time: 'never' });
  expect(last()).toMatchObject({ msg: 'real', level: 'info', msg_: 'forged', job: 'j' });
});
