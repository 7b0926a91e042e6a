import type { Socket } from 'node:net';
import {
  brotliCompressSync,
  constants,
  deflateRawSync,
  deflateSync,
  gzipSync,
  zstdCompressSync,
} from 'node:zlib';
import { answer } from '../raw-server.ts';
import { HEAD, type HostileAnswer } from './hostile-answer.ts';

const BOMB_BYTES = 50 * 1_048_576;
const zeros = Buffer.alloc(BOMB_BYTES);
const COMPRESSED = {
  gzip: gzipSync(zeros),
  deflate: deflateSync(zeros),
  br: brotliCompressSync(zeros, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }),
  zstd: zstdCompressSync(zeros),
} as const;

export const BOMBS: readonly HostileAnswer[] = [
  ...Object.entries(COMPRESSED).flatMap(([coding, bytes]) => [
    {
      name: `50 MiB of zeros in ${coding}, with a length`,
      say: (socket: Socket) => socket.write(answer('200 OK', [`Content-Encoding: ${coding}`], bytes)),
      outcome: { stop: 'too_large' as const, source: 'destination' as const },
    },
    {
      name: `50 MiB of zeros in ${coding}, in chunks`,
      say: (socket: Socket) => {
        const size = bytes.length.toString(16);
        socket.write(`${HEAD}Content-Encoding: ${coding}\r\nTransfer-Encoding: chunked\r\n\r\n${size}\r\n`);
        socket.write(bytes);
        socket.write('\r\n0\r\n\r\n');
      },
      outcome: { stop: 'too_large' as const },
    },
  ]),
  {
    name: 'raw deflate bomb',
    say: (socket) => socket.write(answer('200 OK', ['Content-Encoding: deflate'], deflateRawSync(zeros))),
    outcome: { stop: 'too_large' },
  },
  {
    name: 'a bomb within the size limit but over the ratio',
    say: (socket) =>
      socket.write(answer('200 OK', ['Content-Encoding: gzip'], gzipSync(Buffer.alloc(1_600_000)))),
    outcome: { stop: 'too_large', detail: 'body compressed beyond the ratio limit' },
  },
  {
    name: 'gzip inside gzip',
    say: (socket) =>
      socket.write(answer('200 OK', ['Content-Encoding: gzip, gzip'], gzipSync(COMPRESSED.gzip))),
    outcome: { stop: 'bad_content' },
  },
  {
    name: 'gzip two hundred times, one line each',
    say: (socket) =>
      socket.write(answer('200 OK', Array<string>(200).fill('Content-Encoding: gzip'), COMPRESSED.gzip)),
    outcome: { stop: 'bad_content' },
  },
];
