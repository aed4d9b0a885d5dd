import { drawing } from './dom.ts';
import { height, stretches, width } from './spark-points.ts';

/** Draws `values` as a small line chart. It is hidden from screen readers, because the value is shown beside it. */
export function spark(values: readonly (number | null)[]): SVGSVGElement {
  const lines = stretches(values).map((points) => drawing('polyline', { points }));
  return drawing('svg', { viewBox: `0 0 ${width} ${height}`, class: 'spark', 'aria-hidden': 'true' }, ...lines);
}
