import { Buffer } from 'node:buffer';
import type { Transform } from 'node:stream';
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
} from 'node:zlib';
import { FaultError, type FetchFault } from '../fetch/fetch-fault.ts';
import type { ContentCoding } from './content-coding.ts';

export interface DecodeLimits {
  readonly decodedBytesMax: number;
  /** Decoded over wire bytes, checked once a mebibyte has been decoded. */
  readonly ratioMax: number;
  /** cut: keep the first `decodedBytesMax` bytes and say so, instead of refusing the whole. */
  readonly overflow: 'refuse' | 'cut';
}

type Coded = Exclude<ContentCoding, 'identity'>;

const RATIO_CHECKED_FROM_BYTES = 1_048_576;
const OUTPUT_CHUNK_BYTES = 65_536;
/** More frames than any encoder makes of a page; each costs a decoder. */
const FRAMES_MAX = 1_000;
const FRAME_MAGIC_BYTES = 4;

/**
 * Decodes one body within limits, checked at every piece of output: a bomb of any size is stopped one output chunk
 * past the limit. Rejections are `FaultError`s. `destroy` must be called at the end, however it ended: it gives
 * the decoder's native memory back.
 */
export class BoundedDecoder {
  readonly #coding: ContentCoding;
  readonly #limits: DecodeLimits;
  readonly #chunks: Buffer[] = [];
  #stream: Transform | undefined;
  #pending = Buffer.alloc(0);
  #wireBytes = 0;
  #decodedBytes = 0;
  #ended = false;
  /** What came after the end is no further frame: nothing more is decoded. */
  #over = false;
  #frames = 1;
  /** Bytes given to the present stream. */
  #fed = 0;
  #fault: FetchFault | undefined;
  #wake: (() => void) | undefined;

  constructor(coding: ContentCoding, limits: DecodeLimits) {
    this.#coding = coding;
    this.#limits = limits;
  }

  /** True once `overflow: cut` has dropped something: no further input is needed. */
  get cut(): boolean {
    return this.#limits.overflow === 'cut' && this.#decodedBytes >= this.#limits.decodedBytesMax;
  }

  async write(chunk: Buffer): Promise<void> {
    this.#wireBytes += chunk.length;
    if (this.#coding === 'identity') this.#take(chunk);
    else await this.#feed(chunk, this.#coding);
    this.#throwIfFaulty();
  }

  /** The whole decoded body. Rejects with `truncated` where the coding's own end is missing. */
  async end(): Promise<Buffer> {
    if (this.#pending.length > 0 && this.#coding !== 'identity' && !this.#ended)
      await this.#start(this.#coding);
    const stream = this.#stream;
    if (stream !== undefined && !this.#ended && !this.cut) {
      await this.#until(() => stream.end());
      this.#throwIfFaulty();
    }
    const whole = this.#chunks.length === 1 ? this.#chunks[0] : Buffer.concat(this.#chunks);
    return whole ?? Buffer.alloc(0);
  }

  /** Makes a waiting `write` or `end` reject with this fault now. */
  abort(fault: FetchFault): void {
    this.#fail(fault);
  }

  destroy(): void {
    this.#stream?.destroy();
    this.#chunks.length = 0;
  }

  async #feed(chunk: Buffer, coding: Coded): Promise<void> {
    if (this.cut) return;
    if (this.#ended) return this.#goOn(chunk, coding);
    if (this.#stream !== undefined) return this.#push(chunk, coding);
    // `deflate` is zlib by the letter and raw in some servers: two bytes tell which.
    this.#pending = Buffer.concat([this.#pending, chunk]);
    if (coding !== 'deflate' || this.#pending.length >= 2) await this.#start(coding);
  }

  async #start(coding: Coded): Promise<void> {
    const first = this.#pending;
    this.#pending = Buffer.alloc(0);
    this.#fed = 0;
    const stream = createStream(coding, first);
    this.#stream = stream;
    stream.on('data', (piece: Buffer) => this.#take(piece));
    stream.on('end', () => {
      this.#ended = true;
      this.#wake?.();
    });
    stream.on('error', (error) => this.#fail(decodeFault(error)));
    await this.#push(first, coding);
  }

  async #push(chunk: Buffer, coding: Coded): Promise<void> {
    const stream = this.#stream;
    this.#fed += chunk.length;
    await this.#until((done) => stream?.write(chunk, done));
    if (!this.#ended || this.#fault !== undefined || this.cut) return;
    const unread =
      this.#fed - ((stream as { readonly bytesWritten?: number } | undefined)?.bytesWritten ?? this.#fed);
    if (unread > 0) await this.#goOn(chunk.subarray(chunk.length - unread), coding);
  }

  /**
   * After the coding's own end. A zstd body may be several frames, one after the other (RFC 8878 §3); zlib's decoder
   * knows the same of gzip by itself. Anything else is not part of the page; it has been counted against the wire limit.
   */
  async #goOn(chunk: Buffer, coding: Coded): Promise<void> {
    if (coding !== 'zstd' || this.#over) return;
    this.#pending = Buffer.concat([this.#pending, chunk]);
    if (this.#pending.length < FRAME_MAGIC_BYTES) return;
    this.#over = !isZstdFrame(this.#pending);
    if (this.#over) return;
    this.#frames += 1;
    if (this.#frames > FRAMES_MAX)
      return this.#fail({ kind: 'bad_content', rule: 'corrupt_coding', detail: 'too many zstd frames' });
    this.#ended = false;
    this.#stream?.destroy();
    await this.#start(coding);
  }

  /** Waits for a step of the decoder, its end or a fault, whichever comes first. */
  #until(step: (done: () => void) => void): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = () => {
        this.#wake = undefined;
        resolve();
      };
      step(() => this.#wake?.());
      if (this.#ended || this.#fault !== undefined || this.cut) this.#wake?.();
    });
  }

  #take(piece: Buffer): void {
    if (this.#fault !== undefined || this.cut) return;
    const { decodedBytesMax, ratioMax, overflow } = this.#limits;
    const room = decodedBytesMax - this.#decodedBytes;
    if (piece.length > room && overflow === 'refuse')
      return this.#fail({ kind: 'too_large', limit: 'decoded' });
    this.#chunks.push(piece.length > room ? piece.subarray(0, room) : piece);
    this.#decodedBytes += Math.min(piece.length, room);
    if (this.cut) {
      this.#stream?.destroy();
      this.#wake?.();
      return;
    }
    const inflated = this.#coding !== 'identity' && this.#decodedBytes > RATIO_CHECKED_FROM_BYTES;
    if (inflated && this.#decodedBytes > ratioMax * this.#wireBytes) {
      this.#fail({ kind: 'too_large', limit: 'ratio' });
    }
  }

  #fail(fault: FetchFault): void {
    this.#fault ??= fault;
    this.#stream?.destroy();
    this.#wake?.();
  }

  #throwIfFaulty(): void {
    if (this.#fault !== undefined) throw new FaultError(this.#fault);
  }
}

function createStream(coding: Coded, first: Buffer): Transform {
  const chunkSize = OUTPUT_CHUNK_BYTES;
  switch (coding) {
    case 'gzip':
      return createGunzip({ chunkSize });
    case 'deflate':
      return hasZlibHeader(first) ? createInflate({ chunkSize }) : createInflateRaw({ chunkSize });
    case 'br':
      return createBrotliDecompress({ chunkSize });
    case 'zstd':
      // RFC 9659: a window of more than 8 MiB is not for the web, and would be the sender's to fill our memory.
      return createZstdDecompress({ chunkSize, params: { [constants.ZSTD_d_windowLogMax]: 23 } });
  }
}

/** RFC 8878 §3.1: a frame, or one that decoders skip. */
function isZstdFrame(bytes: Buffer): boolean {
  const magic = bytes.readUInt32LE(0);
  return magic === 0xfd2fb528 || (magic & 0xfffffff0) >>> 0 === 0x184d2a50;
}

/** RFC 1950 §2.2: method 8, and the first two bytes are a multiple of 31. */
function hasZlibHeader(bytes: Buffer): boolean {
  return bytes.length >= 2 && ((bytes[0] ?? 0) & 0x0f) === 8 && bytes.readUInt16BE(0) % 31 === 0;
}

function decodeFault(error: Error): FetchFault {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : 'UNKNOWN';
  if (code === 'Z_BUF_ERROR') return { kind: 'truncated', code };
  return { kind: 'bad_content', rule: 'corrupt_coding', detail: code };
}
