/** The width and height of a line chart, in units of its `viewBox`. */
export const width = 120;
export const height = 28;
const edge = 2;
/** How many steps between values fit into the width: an hour of half minutes. The newest value is at the right end. With fewer values the left part is empty. */
const capacity = 119;

/** The points of a line through `values`, oldest first, as one or more lines: a line ends where a value is not known. The bottom is 0. */
export function toPolylines(values: readonly (number | null)[]): string[] {
  const known = values.filter((value) => value !== null);
  const top = Math.max(...known, 0) || 1;
  const step = (width - edge * 2) / Math.max(capacity, values.length - 1);
  const point = (value: number, at: number): string =>
    `${(width - edge - (values.length - 1 - at) * step).toFixed(1)},${(height - edge - (value / top) * (height - edge * 2)).toFixed(1)}`;
  const lines: string[][] = [[]];
  values.forEach((value, at) => {
    if (value === null) lines.push([]);
    else lines.at(-1)?.push(point(value, at));
  });
  // A line needs two points. A single point is repeated, and the round line caps draw it as a dot.
  return lines.filter((points) => points.length > 0).map((points) => (points.length === 1 ? [...points, ...points] : points).join(' '));
}
