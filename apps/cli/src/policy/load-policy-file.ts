import { readFile } from 'node:fs/promises';
import pc from 'picocolors';
import { parsePolicyFile, type PolicyFile, printProblem } from '@holdoff/throttle-core/policy-file';
import type { CommandIo } from '../command-io.ts';

/** Reads and checks a policy file; undefined: it is not usable, and everything wrong with it has been said. */
export async function loadPolicyFile(io: CommandIo, path: string): Promise<PolicyFile | undefined> {
  const colors = pc.createColors(io.isColored);
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    io.writeError(`${colors.red('error')} ${path}: ${reasonOf(error)}\n`);
    io.fail(1);
    return undefined;
  }
  const parsed = parsePolicyFile(text, path);
  if (parsed.kind === 'ok') return parsed.file;
  for (const problem of parsed.problems) io.writeError(`${colors.red('error')} ${printProblem(problem)}\n`);
  const count = parsed.problems.length;
  io.writeError(`\n${count} ${count === 1 ? 'problem' : 'problems'}; the policy is not usable\n`);
  io.fail(1);
  return undefined;
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'cannot be read';
  return 'code' in error && error.code === 'ENOENT' ? 'no such file' : error.message;
}

/** The hostname of an absolute URL, or of a bare hostname; undefined: neither. */
export function hostOf(url: string): string | undefined {
  const absolute = /^[a-z][a-z0-9+.-]*:\/\//i.test(url) ? url : `http://${url}`;
  const parsed = URL.parse(absolute);
  return parsed === null || parsed.hostname === '' ? undefined : parsed.hostname;
}
