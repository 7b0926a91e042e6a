import { loadScript } from '../load-script.ts';
import type { KeyNames } from '../key-names.ts';
import { ReplyReader } from '../reply-reader.ts';
import type { RunScript } from '../script-runner.ts';

const script = loadScript('publish-policy');

export interface PolicyText {
  readonly text: string;
  readonly contentHash: string;
  readonly name: string;
  readonly by: string;
}

export async function storePolicyText(
  run: RunScript,
  names: KeyNames,
  { text, contentHash, name, by }: PolicyText,
): Promise<{ readonly version: number; readonly isNew: boolean }> {
  const reply = new ReplyReader(
    script.name,
    await run(script, [names.policy], [contentHash, text, name, by, names.policyChannel, '']),
  );
  return { version: reply.number(), isNew: reply.flag() };
}
