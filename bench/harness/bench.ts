import type { Lab } from './lab.ts';

/** One question to the running system, answered with figures. */
export interface Bench {
  readonly name: string;
  /** What is measured and how it is judged, in a sentence or two; stands above the table in the docs. */
  readonly about: string;
  run(lab: Lab): Promise<BenchResult>;
}

export interface BenchResult {
  /** Heads of the table's columns; each row has one cell for each. */
  readonly columns: readonly string[];
  readonly rows: readonly (readonly Cell[])[];
  /** What is held against a target, or worth following over time. */
  readonly figures: readonly Figure[];
  /** What a reader must know to trust the numbers: sizes, cuts, surprises. */
  readonly notes?: readonly string[];
}

export type Cell = string | number | null;

export interface Figure {
  readonly name: string;
  readonly value: number | null;
  readonly unit: string;
  readonly target?: { readonly atMost: number } | { readonly atLeast: number };
}

/** null: there is no target, or nothing was measured. */
export function isMet({ value, target }: Figure): boolean | null {
  if (value === null || target === undefined) return null;
  return 'atMost' in target ? value <= target.atMost : value >= target.atLeast;
}
