import { once } from 'node:events';
import { createBrotliCompress, createDeflate, createGzip, createZstdCompress } from 'node:zlib';
import type { Exchange } from '../exchange.ts';

interface Bomb {
  readonly encoding: 'gzip' | 'deflate' | 'br' | 'zstd';
  readonly decodedBytes: number;
}

const PACKER = {
  gzip: () => createGzip({ level: 9 }),
  deflate: () => createDeflate({ level: 9 }),
  br: () => createBrotliCompress(),
  zstd: () => createZstdCompress(),
} as const;
const ZEROS = Buffer.alloc(1024 ** 2);

/** Packed once for each size and encoding; a packed gigabyte is about one megabyte. */
const packed = new Map<string, Promise<Buffer>>();
const PACKED_MOST = 16;

export function sendBomb(exchange: Exchange, bomb: Bomb): void {
  void packedZeros(bomb).then(
    (body) => sendPacked(exchange, bomb, body),
    // Nothing to send: the client sees a broken connection.
    () => exchange.request.socket.destroy(),
  );
}

function sendPacked(exchange: Exchange, bomb: Bomb, body: Buffer): void {
  if (exchange.response.destroyed) return;
  exchange.whole(
    200,
    [
      ['Content-Type', 'text/html'],
      ['Content-Encoding', bomb.encoding],
    ],
    body,
  );
}

function packedZeros(bomb: Bomb): Promise<Buffer> {
  const key = `${bomb.encoding} ${bomb.decodedBytes}`;
  const known = packed.get(key);
  if (known !== undefined) return known;
  if (packed.size >= PACKED_MOST) packed.clear();
  const made = pack(bomb);
  packed.set(key, made);
  return made;
}

async function pack(bomb: Bomb): Promise<Buffer> {
  const packer = PACKER[bomb.encoding]();
  const parts: Buffer[] = [];
  packer.on('data', (part: Buffer) => parts.push(part));
  const ended = once(packer, 'end');
  for (let left = bomb.decodedBytes; left > 0; left -= ZEROS.length) {
    const block = left >= ZEROS.length ? ZEROS : ZEROS.subarray(0, left);
    if (!packer.write(block)) await once(packer, 'drain');
  }
  packer.end();
  await ended;
  return Buffer.concat(parts);
}
