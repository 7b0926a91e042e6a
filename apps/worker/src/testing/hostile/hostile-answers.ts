import { BOMBS } from './bombs.ts';
import { CUTS } from './cuts.ts';
import { DRIPS } from './drips.ts';
import { FLOODS } from './floods.ts';
import type { HostileAnswer } from './hostile-answer.ts';
import { NONSENSE } from './nonsense.ts';

export const HOSTILE_ANSWERS: readonly HostileAnswer[] = [
  ...BOMBS,
  ...FLOODS,
  ...DRIPS,
  ...CUTS,
  ...NONSENSE,
];
