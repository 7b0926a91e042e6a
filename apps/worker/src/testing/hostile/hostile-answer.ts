import type { Socket } from 'node:net';
import type { Outcome } from '@holdoff/throttle-core';
import type { PageExchange } from '../../fetch-page.ts';

/** One thing a server can do to a client, and what has to come of it. */
export interface HostileAnswer {
  readonly name: string;
  readonly say: (socket: Socket) => void;
  readonly outcome: Partial<Outcome>;
  readonly exchange?: Partial<Pick<PageExchange, 'status' | 'bodyState' | 'sent'>>;
  /** Runs into the budget, so the test gives it a short one. */
  readonly slow?: true;
}

/** The beginning of an answer that looks like a page. */
export const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n';

/** Writes `piece` again and again until the other side has had enough. */
export function every(socket: Socket, everyMs: number, piece: () => string | Buffer): void {
  const timer = setInterval(() => socket.write(piece()), everyMs);
  socket.once('close', () => clearInterval(timer));
}

/** Writes as fast as the other side takes it. */
export function flood(socket: Socket, piece: Buffer): void {
  const block = Buffer.concat(Array<Buffer>(Math.ceil(65_536 / piece.length)).fill(piece));
  const more = (): void => {
    while (!socket.destroyed && socket.write(block));
  };
  socket.on('drain', more);
  more();
}
