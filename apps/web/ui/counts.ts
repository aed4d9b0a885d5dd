/** A count with its noun: `1 message`, `2,500 messages`. */
export const countOf = (count: number, one: string, many = `${one}s`): string => `${count.toLocaleString()} ${count === 1 ? one : many}`;
