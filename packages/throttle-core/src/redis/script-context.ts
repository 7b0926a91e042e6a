import type { KeyNames } from './key-names.ts';
import type { RunScript } from './script-runner.ts';

/** What every script wrapper needs. */
export interface ScriptContext {
  readonly run: RunScript;
  readonly names: KeyNames;
  /** The time passed to scripts: '' makes them take Redis' own. */
  readonly time: () => string;
  /** How long the ledger of an ended job is kept. */
  readonly endedKeepMs: number;
}
