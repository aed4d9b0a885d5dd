import type { JSX } from 'preact';
import type { Place } from '../place.ts';
import { Panel } from './panel.tsx';

/** The pins of a place. */
export function PinsPanel({ place, onClose }: { place: Place; onClose: () => void }): JSX.Element {
  return (
    <Panel title="Pins" onClose={onClose}>
      <p>{place.name}</p>
    </Panel>
  );
}
