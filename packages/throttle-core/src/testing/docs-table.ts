import { readFileSync } from 'node:fs';

/** The cells of a page's tables, for tests that compare the page with the code. */
type Rows = readonly (readonly string[])[];

/** Rows of the tables between `<!-- name -->` and `<!-- /name -->` in docs/<page>, without their headings. */
export function tableBetweenMarks(page: string, name: string): Rows {
  const [, block = ''] = readPage(page).split(new RegExp(`<!-- /?${name} -->`, 'u'));
  return rowsOf(block);
}

/** Rows of the tables under `## heading` in docs/<page>, without their headings. */
export function tableUnderHeading(page: string, heading: string): Rows {
  const section = readPage(page).split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? '';
  return rowsOf(section);
}

function readPage(page: string): string {
  return readFileSync(new URL(`../../../../docs/${page}`, import.meta.url), 'utf8');
}

/** A table's heading is the row above its rule; padding is the formatter's affair. */
function rowsOf(text: string): Rows {
  const lines = text.split('\n');
  return lines
    .filter((line, at) => line.startsWith('|') && !isRule(line) && !isRule(lines[at + 1] ?? ''))
    .map((line) =>
      line
        .slice(1, -1)
        .split('|')
        .map((cell) => cell.trim()),
    );
}

function isRule(line: string): boolean {
  return /^\|[\s|:-]+\|$/u.test(line);
}
