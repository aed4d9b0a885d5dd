import { countOf } from './counts.ts';

const units = ['kB', 'MB', 'GB'];

/** Formats a size in bytes for people: `1 byte`, `1.4 MB`, `10 MB`. A kB has 1,024 bytes, as in all limits of Parlance. */
export function sizeOf(bytes: number): string {
  if (bytes < 1024) return countOf(bytes, 'byte');
  let [count, power] = [bytes / 1024, 0];
  // 1,023.96 kB would be rounded to 1,024.
  for (; count >= 1023.95 && power < units.length - 1; power++) count /= 1024;
  return `${count >= 100 ? Math.round(count) : Number(count.toFixed(1))} ${units[power]}`;
}
