const integer = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const oneDecimal = new Intl.NumberFormat('en', { maximumFractionDigits: 1 });

/** A number, with one decimal below ten. */
export const formatNumber = (value: number): string => (Math.abs(value) < 10 ? oneDecimal : integer).format(value);

/** A count with its noun in the singular or plural: `1 job`, `1,200 jobs`. */
export const formatCount = (value: number, one: string, several = `${one}s`): string =>
  `${integer.format(value)} ${value === 1 ? one : several}`;

/** A duration in a fitting unit: `40 ms`, `2.5 s`, `3 min`, `7 h`. */
export function formatTime(secs: number): string {
  if (secs < 1) return `${integer.format(secs * 1000)} ms`;
  if (secs < 120) return `${formatNumber(secs)} s`;
  return secs < 7200 ? `${integer.format(secs / 60)} min` : `${integer.format(secs / 3600)} h`;
}

/** A share from 0 to 1 as a percentage. A share above 0 is never shown as 0 %. */
export function formatShare(share: number): string {
  if (share > 0 && share < 0.001) return 'under 0.1 %';
  return `${oneDecimal.format(share * 100)} %`;
}
