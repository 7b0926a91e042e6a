/** A body that travels inside of a message, or why it does not. */
export type InlineBody =
  | { readonly kind: 'body'; readonly body: Uint8Array }
  | { readonly kind: 'omitted'; readonly reason: string };

/** `null`: there is no body. */
export function inlineBody(body: Uint8Array, bytesMax: number): InlineBody | null {
  if (body.length === 0) return null;
  if (body.length <= bytesMax) return { kind: 'body', body };
  return { kind: 'omitted', reason: `${body.length} bytes, at most ${bytesMax} are sent along` };
}
