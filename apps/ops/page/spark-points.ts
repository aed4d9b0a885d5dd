/** How wide and high a line is drawn, in units of its own. */
export const width = 120;
export const height = 28;
const edge = 2;
/** How many values the width is for: the newest stands at the right end, and what is not yet known of the 5 minutes is left empty. */
const room = 60;

/** The points of a line through `values`, oldest first, in stretches: one ends where a value is not known. The lowest line is 0. */
export function stretches(values: readonly (number | null)[]): string[] {
  const known = values.filter((value) => value !== null);
  const top = Math.max(...known, 0) || 1;
  const step = (width - edge * 2) / Math.max(room, values.length - 1);
  const point = (value: number, at: number): string =>
    `${(width - edge - (values.length - 1 - at) * step).toFixed(1)},${(height - edge - (value / top) * (height - edge * 2)).toFixed(1)}`;
  const lines: string[][] = [[]];
  values.forEach((value, at) => {
    if (value === null) lines.push([]);
    else lines.at(-1)?.push(point(value, at));
  });
  // A line through one point is none: it is drawn as a dot, by its round ends.
  return lines.filter((points) => points.length > 0).map((points) => (points.length === 1 ? [...points, ...points] : points).join(' '));
}
