/**
 * The definitions of `library` that `body` needs, directly or through others, in their order. A script makes all
 * its functions anew each time it runs: those that nobody calls cost as much as those that work.
 *
 * A definition is a statement that begins at the start of a line with `local`, and goes on to the next one.
 */
export function usedDefinitions(library: string, body: string): string[] {
  const definitions = library
    .split(/^(?=local )/m)
    .map((text) => ({ text: text.trimEnd(), names: namesOf(text) }))
    .filter(({ text }) => text !== '');
  const used = new Set<string>();
  const pending = [body];
  for (let text = pending.pop(); text !== undefined; text = pending.pop()) {
    const words = new Set(text.match(/[A-Za-z_]\w*/g));
    for (const definition of definitions) {
      if (used.has(definition.text) || !definition.names.some((name) => words.has(name))) continue;
      used.add(definition.text);
      pending.push(definition.text);
    }
  }
  return definitions.map(({ text }) => text).filter((text) => used.has(text));
}

/** `local function name(`, or `local name, other = `. */
function namesOf(definition: string): string[] {
  const [, name] = /^local function (\w+)/.exec(definition) ?? [];
  if (name !== undefined) return [name];
  const [, names = ''] = /^local ([\w, ]+)/.exec(definition) ?? [];
  return names.split(',').map((each) => each.trim());
}
