export const placeholder = undefined;
