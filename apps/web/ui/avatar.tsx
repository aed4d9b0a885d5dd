import type { JSX } from 'preact';
import type { VisibleStatus } from '../../../lib/contract/user.ts';
import { ownPath } from './links.ts';

/** Returns a hue for an account or server without a picture; the same id always gets the same hue. */
const hueOf = (id: string): number => Number(((BigInt(/^\d+$/.test(id) ? id : 0) >> 12n) * 137n) % 360n);

const initials = (name: string): string =>
  name
    .split(/\s+/)
    .slice(0, 2)
    .map((word) => Array.from(word)[0] ?? '')
    .join('')
    .toUpperCase();

/** The names of statuses as the page shows them. */
export const statusNames: Record<VisibleStatus, string> = { online: 'Online', idle: 'Idle', dnd: 'Do not disturb', offline: 'Offline' };

/** The picture of an account or server, or its initials. A name is shown beside it, so only the status is announced to a screen reader. */
export function Avatar({
  id,
  name,
  url,
  size = 40,
  status,
  square = false,
}: {
  id: string;
  name: string;
  url: string | null;
  size?: number;
  status?: VisibleStatus | undefined;
  square?: boolean;
}): JSX.Element {
  const style = { width: `${size}px`, height: `${size}px`, fontSize: `${size * 0.4}px`, '--hue': hueOf(id) };
  return (
    <span class={`avatar ${square ? 'square' : ''}`} style={style}>
      {url ? <img src={ownPath(url)} alt="" width={size} height={size} loading="lazy" /> : <span aria-hidden="true">{initials(name)}</span>}
      {status && <span class={`status ${status}`} role="img" aria-label={statusNames[status]} title={statusNames[status]} />}
    </span>
  );
}
