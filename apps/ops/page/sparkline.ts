import { svgElement } from './dom.ts';
import { height, toPolylines, width } from './sparkline-points.ts';

/** Draws `values` as a small line chart. It is hidden from screen readers, because the value is shown beside it. */
export function drawSparkline(values: readonly (number | null)[]): SVGSVGElement {
  const lines = toPolylines(values).map((points) => svgElement('polyline', { points }));
  return svgElement('svg', { viewBox: `0 0 ${width} ${height}`, class: 'sparkline', 'aria-hidden': 'true' }, ...lines);
}
