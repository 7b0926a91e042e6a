import type { ClientMarks } from './client-marks.ts';

/** One request as the origin saw it. Instants are ms since the epoch, with fractions, and never run backwards. */
export interface SeenRequest {
  readonly seq: number;
  readonly receivedAtMs: number;
  readonly host: string;
  readonly method: string;
  /** With its query, cut at 512 characters. */
  readonly path: string;
  /** 0: no status was sent (yet). */
  status: number;
  /** Which kind of answer it got: `page`, `refused`, or the rule's. */
  answer: string;
  readonly job: string | null;
  readonly attempt: number | null;
  readonly admittedAtMs: number | null;
  /** Requests of the host in flight at the receipt, this one included. */
  readonly inFlight: number;
  /** Age of the published cooldown it was received in, ms; null: none. */
  readonly receivedInCooldownMs: number | null;
  /** Age of the published cooldown it was admitted in, ms; null: none, or the admission is not known. */
  readonly admittedInCooldownMs: number | null;
  /** When the answer's head was handed to the socket; null: never. */
  answeredAtMs: number | null;
  /** The wait that the answer published, ms. */
  publishedWaitMs: number | null;
  /** How the exchange ended: `open` while it has not. */
  end: 'open' | 'complete' | 'aborted';
  endedAtMs: number | null;
}

const PATH_LENGTH_MAX = 512;

export interface Receipt {
  readonly receivedAtMs: number;
  readonly host: string;
  readonly method: string;
  readonly path: string;
  readonly marks: ClientMarks;
  readonly inFlight: number;
  readonly receivedInCooldownMs: number | null;
  readonly admittedInCooldownMs: number | null;
}

/** The newest `entriesMax` requests; older ones are counted as dropped, so a judge knows that it saw a part. */
export class RequestLog {
  readonly #ring: SeenRequest[] = [];
  readonly #entriesMax: number;
  #seen = 0;

  constructor(entriesMax: number) {
    this.#entriesMax = entriesMax;
  }

  receive(receipt: Receipt): SeenRequest {
    const { path, marks } = receipt;
    const entry: SeenRequest = {
      seq: this.#seen,
      receivedAtMs: receipt.receivedAtMs,
      host: receipt.host,
      method: receipt.method,
      path: path.length > PATH_LENGTH_MAX ? path.slice(0, PATH_LENGTH_MAX) : path,
      status: 0,
      answer: '',
      job: marks.job,
      attempt: marks.attempt,
      admittedAtMs: marks.admittedAtMs,
      inFlight: receipt.inFlight,
      receivedInCooldownMs: receipt.receivedInCooldownMs,
      admittedInCooldownMs: receipt.admittedInCooldownMs,
      answeredAtMs: null,
      publishedWaitMs: null,
      end: 'open',
      endedAtMs: null,
    };
    this.#ring[this.#seen % this.#entriesMax] = entry;
    this.#seen += 1;
    return entry;
  }

  get droppedCount(): number {
    return this.#seen - this.#ring.length;
  }

  /** Oldest first. */
  *entries(): Generator<SeenRequest> {
    const oldest = this.droppedCount;
    for (let seq = oldest; seq < this.#seen; seq += 1) {
      const entry = this.#ring[seq % this.#entriesMax];
      if (entry !== undefined) yield entry;
    }
  }

  clear(): void {
    this.#ring.length = 0;
    this.#seen = 0;
  }
}
