import type { JSX } from 'preact';
import type { Place } from '../place.ts';
import { Panel } from './panel.tsx';

/** The threads of a place. */
export function ThreadsPanel({ place, onClose }: { place: Place; onClose: () => void }): JSX.Element {
  return (
    <Panel title="Threads" onClose={onClose}>
      <p>{place.name}</p>
    </Panel>
  );
}
