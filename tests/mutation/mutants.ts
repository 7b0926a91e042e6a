/** One change of one place in a source file that a test ought to notice. */
export interface Mutant {
  readonly file: string;
  /** 1 is the first. */
  readonly line: number;
  /** Offsets in the source, UTF-16. */
  readonly from: number;
  readonly to: number;
  readonly before: string;
  readonly after: string;
}

/** What is replaced by what, each wherever it stands in code. */
const SWAPS: readonly (readonly [pattern: RegExp, after: (found: string) => string])[] = [
  [/ <= /g, () => ' < '],
  [/ < /g, () => ' <= '],
  [/ >= /g, () => ' > '],
  [/ > /g, () => ' >= '],
  [/ === /g, () => ' !== '],
  [/ !== /g, () => ' === '],
  [/ && /g, () => ' || '],
  [/ \|\| /g, () => ' && '],
  [/ \+ /g, () => ' - '],
  [/ - /g, () => ' + '],
  [/ \* /g, () => ' / '],
  [/ \/ /g, () => ' * '],
  [/\bMath\.max\b/g, () => 'Math.min'],
  [/\bMath\.min\b/g, () => 'Math.max'],
  [/\bMath\.ceil\b/g, () => 'Math.floor'],
  [/\btrue\b/g, () => 'false'],
  [/\bfalse\b/g, () => 'true'],
  [/(?<=[=:(,[] )\d[\d_]*(?=[;,)\]])/g, (found) => String(Number(found.replaceAll('_', '')) + 1)],
];

/** Lines of types are erased before anything runs. */
const TYPE_LINE = /^\s*(import|export type|type|export interface|interface|readonly|\| )|^\s*(\*|\/\*|\/\/)/;

/** Every mutant of a source, in order. Comments, types and what stands in quotes or patterns are left alone. */
export function mutantsOf(file: string, source: string): Mutant[] {
  const mutants: Mutant[] = [];
  let offset = 0;
  for (const [index, line] of source.split('\n').entries()) {
    if (!TYPE_LINE.test(line)) {
      const code = blankOut(line);
      for (const [pattern, after] of SWAPS) {
        for (const { 0: before, index: at } of code.matchAll(pattern)) {
          const from = offset + at;
          mutants.push({
            file,
            line: index + 1,
            from,
            to: from + before.length,
            before,
            after: after(before),
          });
        }
      }
    }
    offset += line.length + 1;
  }
  return mutants;
}

export function applyMutant(source: string, { from, to, after }: Mutant): string {
  return source.slice(0, from) + after + source.slice(to);
}

/** Texts, patterns and a comment at the end of a line, replaced by as many other characters. */
function blankOut(line: string): string {
  return line.replaceAll(/'[^']*'|`[^`]*`|\/(?! )(?:\\.|[^/\n])+\/[a-z]*|\/\/.*$/g, (text) =>
    '_'.repeat(text.length),
  );
}
