export const main = undefined;
