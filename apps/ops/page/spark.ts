import { drawing } from './dom.ts';

const width = 120;
const height = 28;
const edge = 2;

/** The points of a line through `values`, oldest first, in stretches: one ends where a value is not known. The lowest line is 0. */
export function stretches(values: readonly (number | null)[]): string[] {
  const known = values.filter((value) => value !== null);
  const top = Math.max(...known, 0) || 1;
  const step = (width - edge * 2) / Math.max(1, values.length - 1);
  const point = (value: number, at: number): string =>
    `${(edge + at * step).toFixed(1)},${(height - edge - (value / top) * (height - edge * 2)).toFixed(1)}`;
  const lines: string[][] = [[]];
  values.forEach((value, at) => {
    if (value === null) lines.push([]);
    else lines.at(-1)?.push(point(value, at));
  });
  // A line through one point is none: it is drawn as a dot, by its round ends.
  return lines.filter((points) => points.length > 0).map((points) => (points.length === 1 ? [...points, ...points] : points).join(' '));
}

/** Draws `values` as a small line. For eyes alone: the value stands beside it. */
export function spark(values: readonly (number | null)[]): SVGSVGElement {
  const lines = stretches(values).map((points) => drawing('polyline', { points }));
  return drawing('svg', { viewBox: `0 0 ${width} ${height}`, class: 'spark', 'aria-hidden': 'true' }, ...lines);
}
