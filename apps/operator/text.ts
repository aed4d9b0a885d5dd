/** Quotes a name. Users choose names, so control characters, which could control the terminal, are replaced. */
export const quoted = (name: string): string => `“${name.replace(/\p{C}/gu, '\uFFFD')}”`;
