import { readFile } from 'node:fs/promises';

/** The rows of the tables under `## heading` of docs/<name>, cells trimmed, without header and rule. */
export async function readDocsTable(name: string, heading: string): Promise<readonly (readonly string[])[]> {
  const text = await readFile(new URL(`../../../../docs/${name}`, import.meta.url), 'utf8');
  const section = text.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';
  return section
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
}
