import { answer } from '../raw-server.ts';
import { HEAD, type HostileAnswer } from './hostile-answer.ts';

/** One raw block of 1,000 bytes in a frame that asks for a window of 2^windowLog bytes (RFC 8878 §3.1.1). */
function zstdFrame(windowLog: number): Buffer {
  const head = Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x00, (windowLog - 10) << 3]);
  const block = Buffer.alloc(3);
  block.writeUIntLE((1_000 << 3) | 1, 0, 3);
  return Buffer.concat([head, block, Buffer.alloc(1_000, 'x')]);
}

export const NONSENSE: readonly HostileAnswer[] = [
  ...[
    ['random bytes', '\u0000\u0001\u00ff\u00fegarbage\r\n\r\n'],
    ['another protocol', 'SSH-2.0-OpenSSH_9.2\r\n'],
    ['an HTTP/2 settings frame', '\u0000\u0000\u0000\u0004\u0000\u0000\u0000\u0000\u0000'],
    ['a letter for a status', 'HTTP/1.1 OK\r\n\r\n'],
    ['a header line without a colon', 'HTTP/1.1 200 OK\r\nnonsense\r\nContent-Length: 0\r\n\r\n'],
    ['NUL in a header', 'HTTP/1.1 200 OK\r\nX: a\u0000b\r\nContent-Length: 0\r\n\r\n'],
    ['two lengths that differ', 'HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 9\r\n\r\nhalf'],
    ['a negative length', 'HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n'],
    [
      'a length and chunks',
      `HTTP/1.1 200 OK\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
    ],
    ['a chunk size that is no number', `${HEAD}Transfer-Encoding: chunked\r\n\r\nzz\r\nhalf\r\n`],
    ['a chunk size beyond all numbers', `${HEAD}Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\nx`],
  ].map(([name, text]): HostileAnswer => ({
    name: name ?? '',
    say: (socket) => socket.end(Buffer.from(text ?? '', 'latin1')),
    outcome: { class: 'transport', stop: null },
  })),
  {
    name: 'an upgrade nobody asked for',
    say: (socket) =>
      socket.write('HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n'),
    outcome: { class: 'transport', stop: null },
  },
  ...(['gzip', 'deflate', 'br', 'zstd'] as const).map((coding): HostileAnswer => ({
    name: `bytes that are not ${coding}`,
    say: (socket) =>
      socket.write(
        answer('200 OK', [`Content-Encoding: ${coding}`], Buffer.alloc(500, 'not compressed at all')),
      ),
    outcome: { stop: 'bad_content', source: 'destination' },
  })),
  {
    name: 'a coding nobody knows',
    say: (socket) => socket.write(answer('200 OK', ['Content-Encoding: evil'], 'x')),
    outcome: { stop: 'bad_content' },
  },
  {
    name: 'a transfer coding beside chunked',
    say: (socket) => socket.write(`${HEAD}Transfer-Encoding: gzip, chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n`),
    outcome: { stop: 'bad_content' },
  },
  {
    name: 'a zstd window of 128 MiB',
    say: (socket) => socket.write(answer('200 OK', ['Content-Encoding: zstd'], zstdFrame(27))),
    outcome: { stop: 'bad_content' },
  },
  {
    name: 'a zstd window of 8 MiB, the largest the web allows',
    say: (socket) => socket.write(answer('200 OK', ['Content-Encoding: zstd'], zstdFrame(23))),
    outcome: { class: 'served', stop: null },
  },
  {
    name: 'a part of the page without being asked for a part',
    say: (socket) => socket.write(answer('206 Partial Content', ['Content-Range: bytes 0-3/10'], 'half')),
    outcome: { stop: 'bad_content' },
  },
  {
    name: 'a redirect to nonsense',
    say: (socket) => socket.write(answer('302 Found', ['Location: http://[::bad'])),
    outcome: { stop: 'invalid_url' },
  },
];
