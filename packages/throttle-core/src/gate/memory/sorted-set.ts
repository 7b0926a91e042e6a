/** Members in the order of their scores, then of their names: Redis' sorted set, as far as the gate needs it. */
export class SortedSet {
  readonly #scores = new Map<string, number>();
  readonly #order: string[] = [];

  get size(): number {
    return this.#order.length;
  }

  set(member: string, score: number): void {
    this.delete(member);
    this.#order.splice(this.#slot(score, member), 0, member);
    this.#scores.set(member, score);
  }

  /** Adds, or moves only to a lower score. */
  setLower(member: string, score: number): void {
    const before = this.#scores.get(member);
    if (before === undefined || score < before) this.set(member, score);
  }

  delete(member: string): void {
    const score = this.#scores.get(member);
    if (score === undefined) return;
    this.#order.splice(this.#slot(score, member), 1);
    this.#scores.delete(member);
  }

  score(member: string): number | undefined {
    return this.#scores.get(member);
  }

  rank(member: string): number | null {
    const score = this.#scores.get(member);
    return score === undefined ? null : this.#slot(score, member);
  }

  /** How many stand below `score`. */
  countBelow(score: number): number {
    return this.#slot(score, '');
  }

  /** How many stand at or below `score`. */
  countUpTo(score: number): number {
    return this.#firstAbove(score);
  }

  first(count: number): readonly string[] {
    return this.#order.slice(0, Math.max(0, count));
  }

  slice(from: number, count: number): readonly string[] {
    return this.#order.slice(from, from + Math.max(0, count));
  }

  /** Members with `least <= score <= most`, at most `limit`. */
  between(least: number, most: number, limit: number): readonly string[] {
    const from = this.#slot(least, '');
    return this.#order.slice(from, Math.min(from + Math.max(0, limit), this.#firstAbove(most)));
  }

  after(score: number): readonly string[] {
    return this.#order.slice(this.#firstAbove(score));
  }

  firstScore(): number | null {
    const member = this.#order[0];
    return member === undefined ? null : (this.#scores.get(member) ?? null);
  }

  deleteUpTo(score: number): void {
    for (const member of this.#order.splice(0, this.#firstAbove(score))) this.#scores.delete(member);
  }

  #slot(score: number, member: string): number {
    return this.#search((other, name) => other < score || (other === score && name < member));
  }

  #firstAbove(score: number): number {
    return this.#search((other) => other <= score);
  }

  #search(isBefore: (score: number, member: string) => boolean): number {
    let low = 0;
    let high = this.#order.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const member = this.#order[middle] ?? '';
      if (isBefore(this.#scores.get(member) ?? 0, member)) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
