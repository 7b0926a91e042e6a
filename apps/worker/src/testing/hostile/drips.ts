import { gzipSync } from 'node:zlib';
import { every, HEAD, type HostileAnswer } from './hostile-answer.ts';

export const DRIPS: readonly HostileAnswer[] = [
  { name: 'no answer at all', say: () => undefined, outcome: { class: 'transport', stop: null }, slow: true },
  {
    name: 'the head, one byte at a time',
    say: (socket) => {
      let sent = 0;
      every(socket, 10, () => (`${HEAD}X: ` + 'y'.repeat(9_000)).charAt(sent++));
    },
    outcome: { class: 'transport', stop: null },
    slow: true,
  },
  {
    name: 'the body, one byte at a time',
    say: (socket) => {
      socket.write(`${HEAD}Content-Length: 100000\r\n\r\n`);
      every(socket, 10, () => 'x');
    },
    outcome: { class: 'transport', stop: null },
    exchange: { status: 200, bodyState: 'truncated' },
    slow: true,
  },
  {
    name: 'one byte of the body, then silence',
    say: (socket) => socket.write(`${HEAD}Content-Length: 10\r\n\r\nx`),
    outcome: { class: 'transport', stop: null },
    exchange: { status: 200, bodyState: 'truncated' },
    slow: true,
  },
  {
    name: 'gzip, one byte at a time',
    say: (socket) => {
      const bytes = gzipSync(Buffer.from('page '.repeat(10_000)));
      socket.write(`${HEAD}Content-Encoding: gzip\r\nContent-Length: ${bytes.length + 9_000}\r\n\r\n`);
      let sent = 0;
      every(socket, 10, () => bytes.subarray(sent, ++sent));
    },
    outcome: { class: 'transport', stop: null },
    slow: true,
  },
  {
    name: 'an interim answer now and then, never the real one',
    say: (socket) => every(socket, 50, () => 'HTTP/1.1 103 Early Hints\r\n\r\n'),
    outcome: { class: 'transport', stop: null },
    slow: true,
  },
  {
    name: 'chunks of one byte, for ever',
    say: (socket) => {
      socket.write(`${HEAD}Transfer-Encoding: chunked\r\n\r\n`);
      every(socket, 5, () => '1\r\nx\r\n');
    },
    outcome: { class: 'transport', stop: null },
    slow: true,
  },
  {
    name: 'the end of the last chunk never comes',
    say: (socket) => socket.write(`${HEAD}Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n`),
    outcome: { class: 'transport', stop: null },
    slow: true,
  },
];
