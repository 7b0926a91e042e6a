import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib';
import { answer } from '../raw-server.ts';
import { HEAD, type HostileAnswer } from './hostile-answer.ts';

export const CUTS: readonly HostileAnswer[] = [
  {
    name: 'reset before an answer',
    say: (socket) => socket.resetAndDestroy(),
    outcome: { class: 'transport', stop: null },
    exchange: { status: 0, sent: true },
  },
  {
    name: 'closed before an answer',
    say: (socket) => socket.end(),
    outcome: { class: 'transport', stop: null },
    exchange: { status: 0, sent: true },
  },
  {
    name: 'closed within the head',
    say: (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Ty'),
    outcome: { class: 'transport', stop: null },
    exchange: { status: 0 },
  },
  {
    name: 'reset within the body',
    say: (socket) => {
      socket.write(`${HEAD}Content-Length: 100\r\n\r\nhalf`, () =>
        setTimeout(() => socket.resetAndDestroy(), 20),
      );
    },
    outcome: { class: 'transport', stop: null },
    exchange: { status: 200, bodyState: 'truncated' },
  },
  {
    name: 'fewer bytes than announced',
    say: (socket) => socket.end(`${HEAD}Content-Length: 100\r\n\r\nhalf`),
    outcome: { class: 'transport', stop: null },
    exchange: { status: 200, bodyState: 'truncated' },
  },
  {
    name: 'no last chunk',
    say: (socket) => socket.end(`${HEAD}Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n`),
    outcome: { class: 'transport', stop: null },
    exchange: { status: 200, bodyState: 'truncated' },
  },
  ...(['gzip', 'deflate', 'br', 'zstd'] as const).map((coding): HostileAnswer => {
    const text = Buffer.from(Array.from({ length: 3_000 }, (_, i) => `line ${i * 7919}`).join('\n'));
    const whole = {
      gzip: gzipSync(text),
      deflate: deflateSync(text),
      br: brotliCompressSync(text),
      zstd: zstdCompressSync(text),
    }[coding];
    return {
      name: `${coding} without its end, in a whole message`,
      say: (socket) =>
        socket.write(answer('200 OK', [`Content-Encoding: ${coding}`], whole.subarray(0, whole.length >> 1))),
      outcome: { class: 'transport', stop: null },
      exchange: { bodyState: 'truncated' },
    };
  }),
];
