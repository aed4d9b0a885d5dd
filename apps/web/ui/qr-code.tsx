import type { JSX } from 'preact';
import { encode } from 'uqr';

/** The edge around a QR code that scanners need, in modules. */
const quietZone = 4;

/** Draws `text` as a QR code, dark on light in both themes, as scanners need it. `label` names it for a screen reader. */
export function QrCode({ text, label }: { text: string; label: string }): JSX.Element {
  const { data, size } = encode(text, { ecc: 'M', border: quietZone });
  const path = data.flatMap((row, y) => row.map((isDark, x) => (isDark ? `M${x} ${y}h1v1h-1z` : ''))).join('');
  return (
    <svg class="qr-code" role="img" aria-label={label} viewBox={`0 0 ${size} ${size}`} shape-rendering="crispEdges">
      <path d={path} />
    </svg>
  );
}
