/** Control characters in what was read from Redis must not reach a terminal: they could move its cursor or its title. */
export function printable(text: string): string {
  return text.replaceAll(/\p{Cc}|\p{Cf}/gu, '\uFFFD');
}
