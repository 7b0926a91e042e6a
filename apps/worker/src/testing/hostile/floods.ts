import type { Socket } from 'node:net';
import type { Outcome } from '@holdoff/throttle-core';
import { answer } from '../raw-server.ts';
import { flood, HEAD, type HostileAnswer } from './hostile-answer.ts';

export const FLOODS: readonly HostileAnswer[] = [
  ...['200 OK', '302 Found', '404 Not Found', '429 Too Many Requests', '500 Oops'].flatMap((status) => {
    const served = status.startsWith('200');
    const found = status.startsWith('302');
    const outcome: Partial<Outcome> = served
      ? { stop: 'too_large' }
      : status.startsWith('429')
        ? { class: 'throttled', stop: null }
        : {};
    const location = found ? 'Location: /next\r\n' : '';
    const exchange = { status: Number(status.slice(0, 3)) };
    return [
      {
        name: `endless chunked body of a ${status}`,
        say: (socket: Socket) => {
          socket.write(`HTTP/1.1 ${status}\r\n${location}Transfer-Encoding: chunked\r\n\r\n`);
          flood(socket, Buffer.from(`10000\r\n${'x'.repeat(65_536)}\r\n`));
        },
        outcome,
        exchange,
      },
      {
        name: `endless close-delimited body of a ${status}`,
        say: (socket: Socket) => {
          socket.write(`HTTP/1.1 ${status}\r\n${location}\r\n`);
          flood(socket, Buffer.alloc(65_536, 'x'));
        },
        outcome,
        exchange,
      },
      {
        name: `announced gigabyte of a ${status}`,
        say: (socket: Socket) => {
          socket.write(`HTTP/1.1 ${status}\r\n${location}Content-Length: 1073741824\r\n\r\n`);
          flood(socket, Buffer.alloc(65_536, 'x'));
        },
        outcome,
        exchange,
      },
    ];
  }),
  {
    name: 'a thousand interim answers',
    say: (socket) => flood(socket, Buffer.from('HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n')),
    outcome: { class: 'transport', stop: null },
  },
  {
    name: 'a header that never ends',
    say: (socket) => {
      socket.write(HEAD);
      flood(socket, Buffer.from(`X-Long: ${'x'.repeat(1_000)}\r\n`));
    },
    outcome: { stop: 'too_large', detail: 'header larger than its limit' },
  },
  {
    name: 'a head over the header limit',
    say: (socket) => socket.write(answer('200 OK', [`X-Long: ${'x'.repeat(20_000)}`])),
    outcome: { stop: 'too_large' },
  },
  {
    name: 'thousands of tiny header lines',
    say: (socket) => socket.write(answer('200 OK', Array<string>(9_000).fill('a:b'))),
    outcome: { stop: 'too_large' },
  },
  {
    name: 'endless trailers',
    say: (socket) => {
      socket.write(`${HEAD}Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n`);
      flood(socket, Buffer.from(`X-T: ${'x'.repeat(1_000)}\r\n`));
    },
    outcome: { stop: 'too_large', detail: 'header larger than its limit' },
  },
];
