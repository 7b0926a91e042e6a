import type { GateFixture } from '../gate-fixture.ts';

/** A fresh gate for one test. */
export type Fixture = () => GateFixture;

/** Whole numbers from 1. */
export function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}
