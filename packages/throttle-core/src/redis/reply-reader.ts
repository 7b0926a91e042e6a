import type { ScriptReply } from './script-runner.ts';

/** Reads a script's reply field by field. A reply of another shape is a defect, and throws. */
export class ReplyReader {
  readonly #fields: readonly ScriptReply[];
  readonly #script: string;
  #at = 0;

  constructor(script: string, reply: ScriptReply) {
    if (!Array.isArray(reply)) throw new TypeError(`${script} answered ${JSON.stringify(reply)}, not a list`);
    this.#script = script;
    this.#fields = reply as readonly ScriptReply[];
  }

  get empty(): boolean {
    return this.#at >= this.#fields.length;
  }

  text(): string {
    const field = this.#next();
    if (typeof field !== 'string') throw this.#unexpected(field);
    return field;
  }

  number(): number {
    const field = this.#next();
    const value = typeof field === 'string' && field !== '' ? Number(field) : field;
    if (typeof value !== 'number' || Number.isNaN(value)) throw this.#unexpected(field);
    return value;
  }

  /** '' stands for "none". */
  numberOrNull(): number | null {
    if (this.#fields[this.#at] === '') {
      this.#at += 1;
      return null;
    }
    return this.number();
  }

  flag(): boolean {
    return this.number() === 1;
  }

  list(): ReplyReader {
    return new ReplyReader(this.#script, this.#next());
  }

  /** The next `count` fields, or all that are left. */
  texts(count = Number.POSITIVE_INFINITY): string[] {
    const texts: string[] = [];
    while (texts.length < count && !this.empty) texts.push(this.text());
    return texts;
  }

  /** Alternating fields and values. */
  pairs(): Map<string, string> {
    const pairs = new Map<string, string>();
    while (!this.empty) pairs.set(this.text(), this.text());
    return pairs;
  }

  #next(): ScriptReply {
    const field = this.#fields[this.#at];
    if (field === undefined)
      throw new RangeError(`${this.#script} answered ${this.#at} fields, fewer than expected`);
    this.#at += 1;
    return field;
  }

  #unexpected(field: ScriptReply): TypeError {
    return new TypeError(`${this.#script} answered ${JSON.stringify(field)} in field ${this.#at - 1}`);
  }
}
