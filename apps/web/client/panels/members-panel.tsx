import type { JSX } from 'preact';
import type { Place } from '../place.ts';
import { Panel } from './panel.tsx';

/** The members of a place. */
export function MembersPanel({ place, onClose }: { place: Place; onClose: () => void }): JSX.Element {
  return (
    <Panel title="Members" onClose={onClose}>
      <p>{place.name}</p>
    </Panel>
  );
}
